"""Records of every format, damaged at random or made to cost: each is a row or rejected, and its neighbours are read."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField

from floe_job.convert.envelope.decoder import EnvelopeDecoder, EnvelopeOptions
from floe_job.convert.makers import converters_of
from floe_job.convert.typed.base import TypedBatch, TypedDecoder
from floe_job.schema.proposal import ColumnRules
from tests.support.cpu import least_cpu_seconds
from tests.support.job.converters import NO_REGISTRY
from tests.support.job.formats import avro_orders, ext_json_records, json_schema_orders, proto_orders
from tests.support.job.formats.bombs import FORMATS as FORMAT_OF_BOMBS
from tests.support.job.formats.bombs import Bomb, bombs, decoded
from tests.support.job.formats.damage import damaged
from tests.support.job.formats.envelopes import Envelopes
from tests.support.job.formats.envelopes import envelope as record
from tests.support.kafka.messages import values_of

ROUNDS, RECORDS = 12, 100
MEGABYTE = 1_000_000
SCHEMAS = [Envelopes(Random(seed)).struct() for seed in range(4)]


def envelope(number: int) -> bytes:
    envelopes, schema = Envelopes(Random(number)), SCHEMAS[number % 4]
    return envelopes.record(schema, envelopes.value({**schema, "optional": False}))


FORMATS: dict[str, tuple[Callable[[], TypedDecoder], Callable[[int], bytes]]] = {
    "avro": (avro_orders.decoder, avro_orders.order),
    "protobuf": (proto_orders.decoder, proto_orders.order),
    "json schema": (json_schema_orders.decoder, json_schema_orders.order),
    "ext json": (ext_json_records.decoder, ext_json_records.order),
    "envelope": (lambda: EnvelopeDecoder(EnvelopeOptions()), envelope),
}


def found(batch: TypedBatch, start: int = 0) -> dict[int, str]:
    """Return what became of each record: its value, or why it has none."""
    become: list[tuple[int, Any]] = []
    for part in batch.parts:
        part.column.validate(full=True)
        become += zip(part.places.tolist(), part.column.to_pylist(), strict=True)
    if batch.schemaless is not None:
        become += zip(batch.schemaless.places.tolist(), batch.schemaless.values, strict=True)
    for one in batch.rejected:
        assert 0 < len(one.reason) <= 300
        assert one.reason.isprintable()
        become.append((one.index, (one.stage, one.reason)))
    assert len(become) == len(dict(become))
    return {start + place: repr(value) for place, value in become}


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_records_are_rows_or_rejected(name: str) -> None:
    decoder, encode = FORMATS[name]
    good = [encode(number) for number in range(RECORDS)]
    expected = found(decoder().decode(good))
    for seed in range(ROUNDS):
        random = Random(seed)
        values = [one for value in good for one in (value, damaged(random.choice(good), random.choice(good), random))]
        whole = found(decoder().decode(values_of(values)))
        assert sorted(whole) == list(range(len(values)))
        assert {place // 2: value for place, value in whole.items() if place % 2 == 0} == expected
        some, size = decoder(), random.choice((1, 7, 33))
        cut: dict[int, str] = {}
        for start in range(0, len(values), size):
            cut |= found(some.decode(values_of(values[start : start + size])), start)
        assert cut == whole


def test_bombs_take_little_memory_and_harm_no_neighbour() -> None:
    program = [sys.executable, "-m", "tests.support.job.formats.bombs"]
    ended = subprocess.run(
        program, capture_output=True, check=False, timeout=300, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert ended.returncode == 0, ended.stderr.decode()[-2000:]
    assert int(ended.stdout) < 300 * MEGABYTE


@pytest.mark.parametrize(
    ("form", "name", "why"),
    [
        ("avro", "name that is not Unicode", "one half of a surrogate pair"),
        ("envelope", "name that is not Unicode", "one half of a surrogate pair"),
        ("ext json", "name that is not Unicode", "one half of a surrogate pair"),
        ("json schema", "name that is not Unicode", "one half of a surrogate pair"),
        ("json schema", "type in a list", "a number whose connect.type is ['x']"),
        ("avro", "recursive", "contains itself"),
        ("avro", "6,000 fields", "more than 5000 fields"),
        ("avro", "decimal of 10,000 digits", "a decimal of more than 38 digits"),
        ("protobuf", "options of 1,000 levels, {", "more than 64 brackets in each other"),
        ("protobuf", "list of 200,000 entries", "more than 20000 statements"),
        ("avro", "a long symbol, 30,000 times", "its symbols and defaults have more than 536870912 bytes"),
        ("protobuf", "a long name, 30,000 times", "the names of its enums have more than 536870912 bytes"),
        ("avro", "uses of 20,000 symbols", "more than 200000 symbols and parameters"),
        ("json schema", "10,000 types", "more than 5000 fields"),
        ("json schema", "uses of 10,000 parts, allOf", "more than 100000 branches"),
        ("json schema", "10,000 uses in allOf, allOf", "more than 100000 branches"),
        ("protobuf", "groups in each other", "it is not a message of its type"),
        ("protobuf", "1000000 indexes", "1000000 indexes of messages"),
        ("envelope", '"defau of 998 levels', "nested too deep"),
    ],
)
def test_bomb_is_rejected_with_its_reason(form: str, name: str, why: str) -> None:
    assert why in decoded(bomb(form, name))


def bomb(form: str, name: str) -> Bomb:
    (one,) = (one for one in bombs() if (one.format, one.name) == (form, name))
    return one


def cpu_seconds(values: list[bytes], schema: Schema) -> float:
    """Return the seconds of values that are decoded by a converter that has seen none."""

    def decode() -> None:
        converters = converters_of(FORMAT_OF_BOMBS["envelope"].spec, NO_REGISTRY)
        table = converters.for_table(schema, ColumnRules(), create=False)
        assert table.decode(values_of(values)).rejected == ()

    return least_cpu_seconds(decode)


def test_schema_in_every_record_costs_little_in_a_wide_table() -> None:
    fields = [NestedField(i, f"c{i}", IntegerType(), required=False) for i in range(1, 1001)]
    values = [record([(f"c{i}", "int32")], **{f"c{i}": i}) for i in range(1, 11) for _ in range(20)]
    values = [value.replace(b'"optional":false', b'"doc":"%d","optional":false' % i) for i, value in enumerate(values)]
    narrow, wide = (cpu_seconds(values, Schema(*fields[:count])) for count in (10, 1000))
    assert wide < 8 * narrow
