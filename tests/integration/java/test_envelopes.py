"""floe's decoder of envelopes against Kafka's JsonConverter, in Java."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, cast

import pytest

from floe_job.convert.envelope.decoder import EnvelopeDecoder, EnvelopeOptions, FixedSchemaDecoder
from floe_job.convert.typed.base import TypedBatch
from stack.services.broker import KAFKA
from tests.support.java.program import java_program
from tests.support.job.connect_json import schema_json, value_json
from tests.support.job.formats.envelopes import Envelopes, written

PACKAGES = (f"org.apache.kafka:connect-json:{KAFKA}", "org.slf4j:slf4j-nop:2.0.17")
SCHEMAS = 250
RECORDS = 20
SPELLINGS = ("", "", "", "payload first", "blanks", "twice", "more", "less")

Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def java_reads() -> Iterator[Ask]:
    """Ask the Java class, in one process for all tests."""
    with java_program("EnvelopeCheck", PACKAGES) as ask:

        def reads(records: Sequence[bytes], **options: str) -> list[dict[str, Any]]:
            answer = ask({"options": options, "records": [one.hex() for one in records]})
            return cast("list[dict[str, Any]]", answer)

        yield reads


def answers(batch: TypedBatch) -> dict[int, dict[str, Any]]:
    """Return what was read as Java prints it, by place."""
    found: dict[int, dict[str, Any]] = {}
    for part in batch.parts:
        schema = schema_json(part.schema)
        for place, value in zip(part.places.tolist(), part.column.to_pylist(), strict=True):
            found[place] = {"schema": schema, "value": value_json(part.schema, value)}
    if batch.schemaless is not None:
        found |= {place: {"schemaless": True} for place in batch.schemaless.places.tolist()}
    return found


def records(seed: int, wild: float = 0.0) -> list[bytes]:
    random = Random(seed)
    made = Envelopes(random)
    schema = made.struct() if random.random() < 0.9 else made.type(1)
    values = Envelopes(random, wild)
    return [values.record(schema, values.value(schema), spelling=random.choice(SPELLINGS)) for _ in range(RECORDS)]


@pytest.mark.parametrize("fill", [True, False])
def test_random_envelopes_read_as_java_reads_them(java_reads: Ask, fill: bool) -> None:
    compared = refused = 0
    for seed in range(SCHEMAS):
        some = records(seed)
        java = java_reads(some, **{"replace.null.with.default": str(fill).lower()})
        batch = EnvelopeDecoder(EnvelopeOptions(fill)).decode(some)
        read = answers(batch)
        for place, answer in enumerate(java):
            if "error" in answer:
                assert place not in read, (some[place], answer)
                refused += 1
            else:
                assert read.get(place) == answer, (some[place], [one for one in batch.rejected if one.index == place])
                compared += 1
    assert compared > SCHEMAS * RECORDS // 2
    assert refused > SCHEMAS


def test_nothing_is_read_otherwise_than_by_java(java_reads: Ask) -> None:
    read_by_both = refused_by_java = lost_by_java = 0
    for seed in range(SCHEMAS):
        some = records(seed, 0.15)
        java = java_reads(some)
        read = answers(EnvelopeDecoder(EnvelopeOptions()).decode(some))
        for place, answer in enumerate(java):
            if "error" in answer:
                assert place not in read, (some[place], answer)
                refused_by_java += 1
            elif place in read:
                assert read[place] == answer, some[place]
                read_by_both += 1
            else:
                lost_by_java += 1
    assert min(read_by_both, refused_by_java, lost_by_java) > SCHEMAS


def test_values_of_one_schema_read_as_java_reads_them(java_reads: Ask) -> None:
    compared = 0
    for seed in range(SCHEMAS // 5):
        random = Random(seed)
        schema, values = Envelopes(random).struct(), Envelopes(random)
        some = [written(values.value(schema)).encode() for _ in range(RECORDS)]
        java = java_reads(some, **{"schema.content": written(schema)})
        read = answers(FixedSchemaDecoder(written(schema), fill_defaults=True, stage="value_converter").decode(some))
        assert {place: one for place, one in enumerate(java) if "error" not in one} == read
        compared += len(read)
    assert compared > SCHEMAS


def test_field_that_its_schema_has_not_is_lost_by_java_and_rejected_here(java_reads: Ask) -> None:
    schema = {"type": "struct", "fields": [{"field": "a", "type": "int32"}]}
    some = [written({"schema": schema, "payload": {"a": 1, "more": more}}).encode() for more in (None, 5)]
    java = java_reads(some)
    assert java[0] == java[1]
    assert answers(EnvelopeDecoder(EnvelopeOptions()).decode(some)) == {0: java[0]}
