"""Decoding batches: what is accepted, what is rejected and why, what is needed, how fast."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import (
    DoubleType,
    IcebergType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
)

from floe_job.convert.base import Decoded
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.schema.proposal import ColumnRules

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "name", StringType(), required=False),
)


def decode(*values: bytes, schema: Schema | None = SCHEMA, evolve: bool = False) -> tuple[Decoded, JsonDecoder]:
    decoder = JsonDecoder(schema, ColumnRules(evolve=evolve), create=schema is None)
    return decoder.decode(values), decoder


def rows(decoded: Decoded) -> list[dict[str, Any]]:
    assert decoded.table is not None
    return decoded.table.to_pylist()  # type: ignore[no-any-return]


def test_clean_records_are_columnar_in_the_table_schema() -> None:
    decoded, _ = decode(b'{"name":"x","id":1}', b'{"id":2,"other":true}', b"{}")
    assert decoded.fast
    assert decoded.table is not None
    assert decoded.table.schema.equals(schema_to_pyarrow(SCHEMA), check_metadata=True)
    assert rows(decoded) == [{"id": 1, "name": "x"}, {"id": 2, "name": None}, {"id": None, "name": None}]


def test_an_empty_batch_is_an_empty_table() -> None:
    decoded, _ = decode()
    assert decoded.table is not None
    assert (decoded.table.num_rows, decoded.rejected, decoded.fast_rows, decoded.fast) == (0, (), 0, True)


@pytest.mark.parametrize(
    ("value", "stage", "reason"),
    [
        (b"", "value_converter", "not JSON: empty"),
        (b"nope", "value_converter", "not JSON: Expecting value at character 0"),
        (b'{"id":1', "value_converter", "not JSON: Expecting ',' delimiter at character 7"),
        (b"[1]", "value_converter", "cannot convert type: array at the top, an object is needed"),
        (b'"str"', "value_converter", "cannot convert type: string at the top, an object is needed"),
        (b"5", "value_converter", "cannot convert type: number at the top, an object is needed"),
        (b"null", "value_converter", "cannot convert type: null at the top, an object is needed"),
        (b'{"id":\xff}', "value_converter", "not UTF-8: byte 0xff at 6"),
        (b'{"other":NaN}', "value_converter", "not JSON: NaN is not a number"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "value_converter", "nested deeper than 64"),
        (b'{"a":' * 500_000, "value_converter", "nested deeper than 64"),
        (b'{"a":' + b"[" * 500_000 + b"]" * 500_000 + b"}", "value_converter", "nested deeper than 64"),
        (b'{"a":[' + b"[]," * 100 + b"[]", "value_converter", "not JSON: Expecting ',' delimiter at character 308"),
        (b'{"id":"x"}', "coerce", "column 'id': cannot convert string 'x' to long"),
        (
            b'{"id":12345678901234567890}',
            "coerce",
            "column 'id': cannot convert number 12345678901234567890 to long, out of range",
        ),
        (
            b'{"id":' + b"1" * 5000 + b"}",
            "coerce",
            "column 'id': cannot convert number <integer of 5000 digits> to long",
        ),
    ],
)
def test_bad_record_is_rejected_with_reason_and_others_decoded(value: bytes, stage: str, reason: str) -> None:
    decoded, _ = decode(b'{"id":1}', value, b'{"id":2}')
    assert [(r.index, r.stage, r.reason) for r in decoded.rejected] == [(1, stage, reason)]
    assert [row["id"] for row in rows(decoded)] == [1, 2]
    assert not decoded.fast


def test_one_bad_record_in_a_hundred_thousand_is_found() -> None:
    values = [b'{"id":%d}' % number for number in range(100_000)]
    values[77_777] = b'{"id":2.5}'
    decoded, _ = decode(*values)
    assert [rejected.index for rejected in decoded.rejected] == [77_777]
    assert [row["id"] for row in rows(decoded)] == [n for n in range(100_000) if n != 77_777]


def test_records_that_all_need_the_exact_path_are_still_read() -> None:
    decoded, _ = decode(*[b'{"id":"%d"}' % number for number in range(5000)])
    assert [row["id"] for row in rows(decoded)] == list(range(5000))
    assert not decoded.rejected


def test_pretty_printed_records_take_the_columnar_path() -> None:
    decoded, _ = decode(b'{\n  "id": 1\n}\n', b'\n{\r\n"id": 2}')
    assert decoded.fast
    assert [row["id"] for row in rows(decoded)] == [1, 2]


def test_a_missing_required_column_rejects_the_record() -> None:
    schema = Schema(NestedField(1, "id", LongType(), required=True))
    decoded, _ = decode(b'{"id":1}', b"{}", b'{"id":null}', schema=schema)
    assert [rejected.index for rejected in decoded.rejected] == [1, 2]
    assert decoded.rejected[0].reason == "column 'id': null in a required column"


def test_plain_timestamps_take_the_columnar_path() -> None:
    schema = Schema(NestedField(1, "at", TimestampType(), required=False))
    decoded, _ = decode(b'{"at":"2024-01-02T03:04:05.1Z"}', b'{"at":"2024-01-02 03:04:05"}', schema=schema)
    assert decoded.fast


def test_evolution_collects_needs_in_record_order_over_batches() -> None:
    decoder = JsonDecoder(SCHEMA, ColumnRules(evolve=True), create=False)
    decoder.decode([b'{"id":1}', b'{"z":1,"id":2,"a":{"x":[1]}}', b'{"n":null,"e":{},"l":[]}'])
    decoded = decoder.decode([b'{"z":1.5,"a":{"y":"q"}}', b'{"id":3}'])
    assert {".".join(path): str(proposal) for path, proposal in decoder.needs.columns.items()} == {
        "z": "double",
        "a": "StructOf(fields=(('x', ListOf(element='long')), ('y', 'string')))",
    }
    assert (decoded.table, decoded.rejected, decoded.records) == (None, (), 2)


def test_requested_column_is_known_and_needs_no_exact_path() -> None:
    decoder = JsonDecoder(SCHEMA, ColumnRules(evolve=True), create=False)
    assert not decoder.decode([b'{"z":1}'] * 100).fast
    assert decoder.decode([b'{"z":1}'] * 100).fast


def test_unknown_fields_are_dropped_without_evolution() -> None:
    decoded, decoder = decode(b'{"id":1,"z":1}', b'{"id":2,"z":"x"}', b'{"id":3,"z":[{"q":1,"q":2}]}')
    assert [row["id"] for row in rows(decoded)] == [1, 2, 3]
    assert decoded.fast
    assert not decoder.needs


@pytest.mark.parametrize("field", ["[null,null]", "[[null,null]]", '[{"q":[null,null]},null]', "[[],[null,null]]"])
@pytest.mark.parametrize("of", [ColumnRules(), ColumnRules(evolve=True), ColumnRules(case_insensitive=True)])
def test_lists_that_say_nothing_are_taken_and_bring_no_column(field: str, of: ColumnRules) -> None:
    inner = StructType(NestedField(2, "b", LongType(), required=False))
    schema = Schema(NestedField(1, "a", inner, required=False))
    decoder = JsonDecoder(schema, of, create=False)
    decoded = decoder.decode([b'{"a":{"b":1,"K":%s}}' % field.encode(), b'{"a":{"b":2}}'])
    assert rows(decoded) == [{"a": {"b": 1}}, {"a": {"b": 2}}]
    assert (decoded.rejected, bool(decoder.needs)) == ((), False)


@pytest.mark.parametrize("depth", [1, 2])
def test_nulls_in_lists_of_maps_are_taken(depth: int) -> None:
    column: IcebergType = MapType(90, StringType(), 91, LongType(), value_required=False)
    value: list[Any] = [None, None]
    for level in range(depth):
        column = ListType(10 + level, column, element_required=False)
        value = [value] if level else value
    schema = Schema(NestedField(1, "a", column, required=False))
    decoded, _ = decode(json.dumps({"a": value}).encode(), schema=schema)
    assert rows(decoded) == [{"a": value}]


@pytest.mark.parametrize(
    "step", ["columnar.ColumnarReader._carried", "columnar.Alternatives.check", "nested_readers.nulls"]
)
@pytest.mark.parametrize("error", [pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowKeyError])
def test_what_arrow_refuses_after_parsing_is_read_the_exact_way(
    monkeypatch: pytest.MonkeyPatch, step: str, error: type[Exception]
) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(f"floe_job.convert.json.{step}", refuse)
    decoded, _ = decode(b'{"id":1}', b'{"id":2.5}')
    assert [row["id"] for row in rows(decoded)] == [1]
    assert [rejected.index for rejected in decoded.rejected] == [1]


def test_a_rejected_record_leaves_no_column_behind() -> None:
    _, decoder = decode(
        b'{"id":"x","new":1}', b'{"l":[1,"a"]}', b'{"big":12345678901234567890}', b'{"s":"\\ud800"}', evolve=True
    )
    assert not decoder.needs


def test_first_of_two_types_wins_and_other_record_is_rejected() -> None:
    decoded, decoder = decode(b'{"z":1}', b'{"z":"x","y":1}', evolve=True)
    assert [rejected.index for rejected in decoded.rejected] == [1]
    assert list(decoder.needs.columns) == [("z",)]


def test_creation_proposes_a_table_and_gives_no_rows() -> None:
    decoded, decoder = decode(b"{}", b'{"b":1}', b'{"a":"x","b":2.5}', b"5", schema=None)
    assert decoded.table is None
    assert [rejected.index for rejected in decoded.rejected] == [3]
    assert str(decoder.needs.new_schema()) == "table {\n  1: b: optional double\n  2: a: optional string\n}"


def test_table_neither_existing_nor_creatable_is_an_error() -> None:
    with pytest.raises(ValueError, match="a schema is needed"):
        JsonDecoder(None, ColumnRules(evolve=True), create=False)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"": 1}, "a column with an empty name"),
        ({"n" * 256: 1}, "a name of 256 characters"),
        ({"s": {"n" * 256: 1}}, "a name of 256 characters"),
        ({f"c{number}": 1 for number in range(1001)}, "more than 1000 columns"),
        ({"a.b": 1, "a": {"b": 1}}, "two columns would have one full name"),
        ({"id.x": 1, "a\x00": 1}, "a control character in its name"),
    ],
)
def test_columns_beyond_the_caps_reject_the_record(record: dict[str, Any], reason: str) -> None:
    decoded, decoder = decode(json.dumps(record).encode(), evolve=True)
    assert decoded.rejected[0].stage == "schema"
    assert reason in decoded.rejected[0].reason
    assert not decoder.needs


def test_an_explosion_of_keys_stops_at_the_cap() -> None:
    decoded, decoder = decode(*[b'{"k%d":1}' % number for number in range(1100)], evolve=True)
    assert decoder.needs.count() == 998
    assert len(decoded.rejected) == 102


def test_a_string_of_fifty_megabytes_passes_with_bounded_memory() -> None:
    value = b'{"id":1,"name":"' + b"x" * 50_000_000 + b'"}'
    tracemalloc.start()
    decoded, _ = decode(b'{"id":0}', value, b'{"id":2}')
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert decoded.fast
    assert decoded.table is not None
    assert decoded.table.column("name")[1].as_py() == "x" * 50_000_000
    assert peak < 250_000_000


def test_a_rejected_record_of_fifty_megabytes_has_a_short_reason() -> None:
    decoded, _ = decode(b'{"id":"' + b"x" * 50_000_000 + b'"}')
    assert len(decoded.rejected[0].reason) < 200


def test_negative_zero_is_told_apart_as_in_the_exact_path() -> None:
    schema = Schema(NestedField(1, "d", DoubleType(), required=False))
    decoded, _ = decode(b'{"d":-0}', b'{"d":-0.0}', schema=schema)
    assert [str(row["d"]) for row in rows(decoded)] == ["0.0", "-0.0"]


@pytest.mark.parametrize(
    "value",
    [b"[" * 63 + b"]" * 63, b"[" + b"[]," * 100 + b"[]]", b'"' + b"[{" * 500 + b'"', b'"\\"' + b"[" * 99 + b'"'],
)
def test_many_brackets_are_not_depth(value: bytes) -> None:
    decoded, _ = decode(b'{"id":1,"z":' + value + b"}")
    assert decoded.fast
    assert [row["id"] for row in rows(decoded)] == [1]
