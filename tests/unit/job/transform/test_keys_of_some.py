"""Keys that a transform makes for some records of a batch: the others keep theirs, however records are cut into batches."""

from __future__ import annotations

from typing import Any

import pytest

from floe.config.converters.base import PLAIN_JSON
from floe.config.properties import Properties
from floe.config.sections.transforms import PredicateSpec, TransformSpec
from floe.config.transforms.kafka_records import HAS_HEADER_KEY, PREDICATES
from floe_job.convert.context import ConverterContext, LookupRecorder
from floe_job.transform.batch import Readers, key_reader, value_reader
from floe_job.transform.chain import Chain
from tests.support.job.converters import JSON_CONVERTERS
from tests.support.job.transforms import transform
from tests.support.kafka.messages import PIECE, Message, records

MARKED = PredicateSpec("p", HAS_HEADER_KEY, PREDICATES[HAS_HEADER_KEY].engine, Properties({"name": "h"}))
WITH, WITHOUT = (("h", b"1"),), ()
MESSAGES = [
    Message(0, b"no JSON", WITHOUT),
    Message(1, b'{ "id" : 1 }', WITHOUT),
    Message(2, b"no JSON", WITH),
    Message(3, None, WITHOUT),
    Message(4, b'{"id":1}', WITH),
]
TO_KEY = transform("ValueToKey", MARKED, fields="a")
KEYS = {
    "made": ([TO_KEY], [b"no JSON", b'{ "id" : 1 }', b'{"a":2}', None, b'{"a":4}']),
    "made, then filtered": (
        [TO_KEY, transform("Filter", MARKED)],
        [b"no JSON", b'{ "id" : 1 }', "filtered", None, "filtered"],
    ),
    "made, then read": (
        [TO_KEY, transform("HoistField$Key", field="k")],
        ["key_converter", b'{"k":{"id":1}}', b'{"k":{"a":2}}', b'{"k":null}', b'{"k":{"a":4}}'],
    ),
    "changed": (
        [transform("HoistField$Key", MARKED, field="k")],
        ["key_converter", b'{ "id" : 1 }', "key_converter", None, b'{"k":{"id":1}}'],
    ),
}


def keys_of(specs: list[TransformSpec], size: int) -> list[Any]:
    """Return what becomes of each record's key, in batches of a size."""
    found: list[Any] = ["filtered"] * len(MESSAGES)
    chain = Chain(specs)
    has_keys = any(spec.options.reads_keys for spec in specs)
    context = ConverterContext.of_attempt("", LookupRecorder())
    readers = Readers(value_reader(JSON_CONVERTERS), key_reader(PLAIN_JSON if has_keys else None, context))
    given = records(PIECE, [b'{"a":%d}' % row for row in range(len(MESSAGES))], MESSAGES)
    for start in range(0, len(MESSAGES), size):
        some = given.select(range(start, min(start + size, len(MESSAGES))))
        for batch in chain.batches(some, readers):
            for one in batch.rejected:
                found[some.offsets[one.index]] = one.stage
            for left in batch.by_topic():
                for offset, key in zip(left.offsets, left.keys(), strict=True):
                    found[offset] = key
    return found


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("name", KEYS)
def test_keys_of_some_do_not_change_others(name: str, size: int) -> None:
    specs, expected = KEYS[name]
    assert keys_of(specs, size) == expected
