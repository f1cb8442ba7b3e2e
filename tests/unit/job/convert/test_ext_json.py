"""Objects of a schema's id and a payload, as Apicurio's JSON converter writes them, and as others may."""

from __future__ import annotations

from typing import Any

import pytest

from floe_job.convert.typed.base import TypedBatch
from tests.support.job.formats.ext_json_records import decoder, order, read, struct, written
from tests.support.kafka.messages import values_of


def rows(batch: TypedBatch) -> dict[int, Any]:
    return {
        i: row for part in batch.parts for i, row in zip(part.places.tolist(), part.column.to_pylist(), strict=True)
    }


def test_records_of_the_converter_are_read_as_columns() -> None:
    batch = decoder().decode(values_of([order(n) for n in range(100)]))
    assert rows(batch) == {n: read(n) for n in range(100)}
    assert batch.fast_rows == 100


@pytest.mark.parametrize(
    "record",
    [
        b' { "schemaId" : 7 , "payload" : {"id":1,"tags":[]} } ',
        b'{"payload":{"id":1,"tags":[]},"schemaId":7}',
        b'{"schemaId":7,"payload":{"id":1,"tags":[]},"more":{"payload":2}}',
        b'{"schemaId":7,"payload":{"id":2,"tags":[]},"payload":{"id":1,"tags":[]}}',
        b'{"schemaId":8,"payload":{"id":1,"tags":[]},"schemaId":7}',
        b'{"schemaId":7,"payload":{"id":1,"tags":[],"note":null}}',
    ],
)
def test_record_that_another_program_wrote_is_read(record: bytes) -> None:
    batch = decoder().decode([order(0), record, order(2)])
    assert rows(batch) == {0: read(0), 1: {"id": 1, "note": None, "tags": []}, 2: read(2)}


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (b"[]", "no object of schemaId and payload"),
        (b'{"schemaId":7}', "has no payload"),
        (b'{"schemaId":1.5,"payload":{}}', "its schemaId is 1.5"),
        (b'{"schemaId":true,"payload":{}}', "its schemaId is True"),
        (b'{"schemaId":9223372036854775808,"payload":{}}', "no id of a schema"),
        (b'{"schemaId":7,"payload":{"id":1}', "not JSON"),
        (b'{"schemaId":7,"payload":\xff}', "not UTF-8"),
        (written({"id": 1}), "schema 7: "),
        (written({"id": 1}, 9), "no schema 9"),
        (written({}, 5), "schema 5: the schema is not JSON"),
        (written({}, 6), "schema 6: "),
    ],
)
def test_record_that_is_not_right_is_rejected_alone(record: bytes, why: str) -> None:
    schemas = {7: struct(id="int64", tags="string"), 5: "no json", 6: {"type": "int128"}}
    batch = decoder(schemas).decode([written({"id": 0, "tags": "a"}), record, written({"id": 2, "tags": "b"})])
    assert rows(batch) == {0: {"id": 0, "tags": "a"}, 2: {"id": 2, "tags": "b"}}
    (rejected,) = batch.rejected
    assert (rejected.index, rejected.stage) == (1, "value_converter")
    assert why in rejected.reason


@pytest.mark.parametrize(("fill", "expected"), [(True, 5), (False, None)])
def test_default_is_in_place_of_a_null_if_it_is_to_be(fill: bool, expected: int | None) -> None:
    schema = struct(a={"type": "int32", "optional": True, "default": 5})
    assert rows(decoder({7: schema}, fill_defaults=fill).decode([written({"a": None})])) == {0: {"a": expected}}
