"""Envelopes: divided by schema, bad records named one by one, whatever the batches."""

from __future__ import annotations

import json
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from floe_job.connect.arrow import arrow_type
from floe_job.convert.envelope.decoder import MAX_SWEEPS, EnvelopeDecoder, EnvelopeOptions, FixedSchemaDecoder
from floe_job.convert.envelope.envelopes import MAX_TEXT, TextCache
from floe_job.convert.typed.base import TypedBatch
from tests.support.job.formats.envelopes import DECIMAL, TIMESTAMP, Envelopes, envelope
from tests.support.kafka.messages import values_of

FIELDS = [
    {"field": "id", "type": "int64"},
    {"field": "small", "type": "int8", "default": 3},
    {"field": "note", "type": "string", "optional": True},
    {"field": "ratio", "type": "float", "optional": True, "default": 0.5},
    {"field": "price", "type": "bytes", "optional": True, "name": DECIMAL, "parameters": {"scale": "2"}},
    {"field": "at", "type": "int64", "optional": True, "name": TIMESTAMP},
    {"field": "tags", "type": "array", "optional": True, "items": {"type": "string"}},
]
SCHEMA = {"type": "struct", "fields": FIELDS}


def record(schema: Any = SCHEMA, **payload: Any) -> bytes:
    return json.dumps({"schema": schema, "payload": payload}, separators=(",", ":"), ensure_ascii=False).encode()


def decoder(**options: Any) -> EnvelopeDecoder:
    return EnvelopeDecoder(EnvelopeOptions(**options))


def rows(batch: TypedBatch) -> dict[int, Any]:
    return {
        place: row
        for part in batch.parts
        for place, row in zip(part.places.tolist(), part.column.to_pylist(), strict=True)
    }


def reasons(batch: TypedBatch) -> dict[int, str]:
    return {one.index: one.reason for one in batch.rejected}


def test_records_of_one_schema_are_read_as_columns() -> None:
    batch = decoder().decode(values_of([record(id=n, note=f"é{n}", small=None) for n in range(100)]))
    (part,) = batch.parts
    assert part.column.type == arrow_type(part.schema)
    assert part.places.tolist() == list(range(100))
    assert part.column[7].as_py() == {
        "id": 7,
        "small": 3,
        "note": "é7",
        "ratio": 0.5,
        "price": None,
        "at": None,
        "tags": None,
    }
    assert (batch.rejected, batch.fast_rows, batch.schemaless) == ((), 100, None)


def test_null_is_null_where_defaults_are_not_filled_in() -> None:
    batch = decoder(fill_defaults=False).decode([record(id=n, small=1) for n in range(20)] + [record(id=1)])
    assert rows(batch)[3]["ratio"] is None
    assert reasons(batch) == {20: "field 'small': it is null or not there, and its schema says that it is required"}


def test_records_are_divided_by_schema_in_their_order() -> None:
    other = {"type": "struct", "fields": FIELDS[:1]}
    batch = decoder().decode([record(SCHEMA if n % 3 else other, id=n) for n in range(60)])
    assert [len(part.places) for part in batch.parts] == [20, 40]
    assert {place: row["id"] for place, row in rows(batch).items()} == {n: n for n in range(60)}


def test_schema_that_is_spelled_otherwise_means_the_same() -> None:
    values = [record(id=n) for n in range(30)]
    values[4] = json.dumps({"payload": {"id": 4}, "schema": SCHEMA}).encode()
    values[5] = json.dumps({"schema": SCHEMA, "payload": {"id": 5}}, indent=2).encode() + b"\n \n"
    values[6] = b"\xef\xbb\xbf" + values[6]
    values[7] = values[7].replace(b'"payload"', b'"p\\u0061yload"')
    values[8] = values[8][:-1] + b',"payload":{"id":9}}'
    values[9] = b'{"schema":7,' + values[9][1:]
    values[10] = values[10][:-1] + b" " * 40 + b"}"
    batch = decoder().decode(values)
    assert batch.rejected == ()
    found = {place: row["id"] for place, row in rows(batch).items()}
    assert found == {n: 9 if n == 8 else n for n in range(30)}
    assert len({part.schema for part in batch.parts}) == 1


NO_ENVELOPE = "an envelope is an object of schema and payload, and nothing else"
BAD = {
    b"": "not JSON: empty",
    b"{": "not JSON: Expecting property name enclosed in double quotes at character 1",
    b"\xff": "not UTF-8: byte 0xff at 0",
    b"null": NO_ENVELOPE,
    b"7": NO_ENVELOPE,
    b"[1]": NO_ENVELOPE,
    b"{}": NO_ENVELOPE,
    b'{"id": 1}': "it has the fields ['id']",
    record()[:-1] + b',"more":{}}': "it has the fields ['schema', 'payload', 'more']",
    b'{"schema":{"type":"struct","fields":[]}}': "it has the fields ['schema']",
    record(id=1)[:-1]: "not JSON: Expecting ',' delimiter",
    record(id=1) + b"}": "not JSON: Extra data",
    record(id=1)[:-1] + b",}": "not JSON: Expecting property name",
    record(id=1).replace(b'"payload":{"id":1}', b'"payload":'): "not JSON: Expecting value",
    record(id=1).replace(b'"payload":{"id":1}', b'"payload":{"id":1}{"id":2}'): "not JSON: Expecting ',' delimiter",
    record(id=1).replace(b'{"id":1}', b'{"id":1,"x":NaN}'): "not JSON: NaN is not a number",
    record(id=1).replace(b'{"id":1}', b'{"id":1,"x":"\xff"}'): "not UTF-8",
    record(id=1).replace(b'{"id":1}', b'{"id":1,"x":' + b"[" * 70 + b"]" * 70 + b"}"): "nested deeper than 64",
    record(id=1).replace(b'{"id":1}', b"[" * 100_000): "nested too deep",
    record(id=1).replace(b'{"id":1}', b"1" * 5000): "the value: it is <integer of 5000 digits>",
    record(id=1).replace(b'{"id":1}', b"null"): "the value: it is null or not there",
    record(id=1).replace(b'{"id":1}', b"[]"): "the value: it is an array, and not an object",
    record(id=None): "field 'id': it is null or not there",
    record(): "field 'id': it is null or not there",
    record(id=1.5): "field 'id': it is 1.5, which is not an int64",
    record(id=2**63): f"field 'id': it is {2**63}, which is not an int64",
    record(id="1"): "field 'id': it is the text '1', and not an int64",
    record(id=True): "field 'id': it is a boolean, and not an int64",
    record(id=1, small=200): "field 'small': it is 200, which is not an int8",
    record(id=1, note=5): "field 'note': it is 5, which is not a string",
    record(id=1, note="\ud800".encode("utf-8", "replace").decode(), small="x"): "field 'small': it is the text 'x'",
    record(id=1, ratio=1e39): "field 'ratio': it is 1e+39, which is not a float",
    record(id=1, price="A"): "field 'price': it is the text 'A', and not bytes in base64",
    record(id=1, price=""): "field 'price': it is the text '', and not the bytes of a decimal",
    record(id=1, price=1.234): "field 'price': it is 1.234, which is not a decimal of up to 38 digits, 2 of them after",
    record(id=1, at=2**62): f"field 'at': it is {2**62}, which is not a timestamp in ms that a table's column can hold",
    record(id=1, tags="x"): "field 'tags': it is the text 'x', and not an array",
    record(id=1, tags=["a", None]): "field 'tags.element': it is null or not there",
}


@pytest.mark.parametrize("number", range(len(BAD)))
def test_bad_record_is_rejected_alone_with_its_reason(number: int) -> None:
    bad, reason = list(BAD.items())[number]
    good = [record(id=n) for n in range(40)]
    found = set()
    for values, place in (([*good[:20], bad, *good[20:]], 20), ([bad], 0), ([bad, *good], 0)):
        batch = decoder().decode(values)
        (rejected,) = batch.rejected
        assert (rejected.index, rejected.stage, rejected.error) == (place, "value_converter", "Malformed")
        assert reason in rejected.reason
        found.add(rejected.reason)
        assert len(rows(batch)) == len(values) - 1
    assert len(found) == 1, "the reason is the same in any batch"


@pytest.mark.parametrize("bad", range(33, 60))
def test_two_objects_in_a_payload_do_not_stop_the_others(bad: int) -> None:
    """The parser counts both, and so says of a bad record that it is a later one."""
    schema = {"type": "struct", "fields": FIELDS[:1]}
    values = [record(schema, id=n) for n in range(60)]
    values[5] = values[5][:-1] + b'{"id":1}}'
    values[bad] = record(schema, id="x")
    batch = decoder().decode(values)
    assert [one.index for one in batch.rejected] == [5, bad]
    assert len(rows(batch)) == 58


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_payload_before_its_schema_is_read_as_columns(separators: tuple[str, str]) -> None:
    schema, other = ({"type": "struct", "fields": FIELDS[:count]} for count in (1, 2))

    def written(payload: str, *schemas: Any) -> bytes:
        comma, colon = separators
        behind = "".join(f'{comma}"schema"{colon}{json.dumps(one, separators=separators)}' for one in schemas)
        return f'{{"payload"{colon}{payload}{behind}}}'.encode()

    good = [written(f'{{"id":{n}}}', other if n % 3 else schema) for n in range(300)]
    batch = decoder().decode(values_of(good))
    expected = {n: {"id": n} | ({"small": 3} if n % 3 else {}) for n in range(300)}
    assert rows(batch) == expected
    assert batch.fast_rows == 300
    odd = [
        written('{"id":7}', schema, other),
        written('{"id":7}{"id":8}', other),
        written('{"id":"x"}', other),
        written('{"id":7},"payload":{"id":8}', other),
        written("null", other),
        written('{"id":7', other),
    ]
    batch = decoder().decode(values_of([*good, *odd]))
    assert rows(batch) == expected | {300: {"id": 7, "small": 3}, 303: {"id": 8, "small": 3}}
    assert [one.index for one in batch.rejected] == [301, 302, 304, 305]


def test_half_of_a_surrogate_pair_is_no_text() -> None:
    bad = record(id=1, note="x").replace(b'"x"', b'"\\ud800"')
    batch = decoder().decode([record(id=n) for n in range(20)] + [bad])
    assert reasons(batch) == {20: "field 'note': it is a text with half of a surrogate pair in it"}


def test_schema_that_cannot_be_used_rejects_its_records_only() -> None:
    bad = record({"type": "struct", "fields": [{"field": "a", "type": "int65"}]}, a=1)
    batch = decoder().decode([record(id=1), bad, record(id=2), bad])
    assert [one.error for one in batch.rejected] == ["UnusableSchema"] * 2
    assert "its field 'a' has the type \"int65\"" in reasons(batch)[3]
    assert sorted(rows(batch)) == [0, 2]


def test_payload_without_a_schema_is_handed_on() -> None:
    values = [record(id=1), b'{"schema":null,"payload":{"a":1}}', b'{"payload":null,"schema":null}', record(id=2)]
    batch = decoder().decode(values)
    assert batch.schemaless is not None
    assert batch.schemaless.places.tolist() == [1, 2]
    assert list(batch.schemaless.values) == [b'{"a":1}', b"null"]
    assert sorted(rows(batch)) == [0, 3]


def test_null_payload_of_an_optional_schema_is_null() -> None:
    schema = {**SCHEMA, "optional": True}
    text = json.dumps({"schema": schema, "payload": None}).encode()
    assert rows(decoder().decode([text, record(schema, id=1)]))[0] is None


@pytest.mark.parametrize("price", ["1.25", "125e-2", '"fQ=="', '" fQ==\\n"'])
def test_decimals_are_numbers_or_base64_of_any_mix(price: str) -> None:
    values = [record(id=n, price=None).replace(b"null", price.encode()) for n in range(50)]
    values[30] = record(id=30, price="fA==")
    values[31] = record(id=31, price=7)
    values[32] = record(id=32)
    batch = decoder().decode(values)
    assert batch.rejected == ()
    found = [row["price"] for row in rows(batch).values()]
    places = sorted(rows(batch))
    assert places == list(range(50))
    expected = {30: Decimal("1.24"), 31: Decimal("7.00"), 32: None}
    assert {place: rows(batch)[place]["price"] for place in expected} == expected
    assert found.count(Decimal("1.25")) == 47


def test_digits_in_a_string_are_base64_beside_numbers() -> None:
    values = [record(id=n, price=1.5) for n in range(50)]
    values[20] = record(id=20, price="1250")
    found = rows(decoder().decode(values))[20]["price"]
    assert found == Decimal(int.from_bytes(b"\xd7\x6e\x74", "big", signed=True)).scaleb(-2)


def test_numbers_written_otherwise_are_read_exactly() -> None:
    text = record(id=1, small=1, ratio=1, note="x")
    spelled = text.replace(b'"id":1', b'"id":10e-1').replace(b'"ratio":1', b'"ratio":16777217.0000001')
    negative = text.replace(b'"ratio":1', b'"ratio":-0.0')
    found = rows(decoder().decode([text] * 20 + [spelled, negative]))
    assert found[20]["id"] == 1
    assert found[20]["ratio"] == 16777218.0, "rounded once, not by way of a double"
    assert str(found[21]["ratio"]) == "0.0", "Java's decimal has no zero below zero"


def test_floats_that_are_not_finite_are_read_as_they_are_written() -> None:
    found = rows(decoder().decode([record(id=n, ratio=["NaN", "-Infinity", 1][n % 3]) for n in range(20)]))
    assert [str(found[n]["ratio"]) for n in range(3)] == ["nan", "-inf", "1.0"]


@given(st.integers(0, 10**9), st.integers(1, 30))
@example(308485, 1)  # a zero below zero beside what is not finite
def test_result_is_the_same_for_any_batches(seed: int, size: int) -> None:
    random = Random(seed)
    made, wild = Envelopes(random), Envelopes(random, random.choice([0.0, 0.02, 0.2]))
    schemas = [made.struct() for _ in range(random.choice([1, 1, 2, 12]))]
    values = []
    for _ in range(60):
        schema = random.choice(schemas)
        spelling = random.choice(["", "", "", "", "payload first", "twice", "blanks", "more"])
        values.append(wild.record(schema, wild.value(schema), spelling=spelling))
    whole, cut = decoder().decode(values), decoder(schemas=3)
    found: dict[int, str] = {}
    rejected: dict[int, str] = {}
    for start in range(0, len(values), size):
        batch = cut.decode(values_of(values[start : start + size]))
        found |= {start + place: repr(row) for place, row in rows(batch).items()}
        rejected |= {start + place: why for place, why in reasons(batch).items()}
    assert found == {place: repr(row) for place, row in rows(whole).items()}
    assert rejected == reasons(whole)


def test_schema_of_the_options_that_is_none_rejects_all_records() -> None:
    batch = FixedSchemaDecoder('{"type": "int65"}', fill_defaults=True, stage="key_converter").decode([b"1", b"2"])
    assert [(one.stage, one.error) for one in batch.rejected] == [("key_converter", "UnusableSchema")] * 2
    assert reasons(batch)[0].startswith("schema.content: the schema cannot be used: it has the type")


def test_many_schemas_are_read_and_few_are_kept() -> None:
    values = [envelope([("id", "int64"), (f"f{n}", "string")], optional=True, id=n) for n in range(300)]
    some = decoder(schemas=10)
    batch = some.decode(values + values[: MAX_SWEEPS * 2])
    assert {place: row["id"] for place, row in rows(batch).items()} == {n: n % 300 for n in range(300 + MAX_SWEEPS * 2)}
    assert len(some._schemas) <= 10
    assert len(some._prefixes) <= 10


def test_texts_that_are_kept_are_limited_in_bytes() -> None:
    cache: TextCache[int] = TextCache(1000)
    for n in range(20):
        cache.put(bytes([n]) * (MAX_TEXT // 4), n)
    assert len(cache) == 4
    assert cache.get(bytes([19]) * (MAX_TEXT // 4)) == 19
    cache.put(bytes(2 * MAX_TEXT), 7)
    assert (len(cache), cache.get(bytes(2 * MAX_TEXT))) == (1, 7)


@pytest.mark.parametrize("around", [0, 40])
def test_field_that_the_schema_has_not_is_rejected_and_not_lost(around: int) -> None:
    inner = {"type": "struct", "field": "in", "optional": True, "fields": [{"field": "x", "type": "int32"}]}
    schema = {"type": "struct", "fields": [FIELDS[0], inner]}
    others = [record(schema, id=n) for n in range(around)]
    given = [
        record(schema, id=1, more=None),
        record(schema, id=2, more="x"),
        record(schema, id=3, **{"in": {"x": 1, "y": 2}}),
    ]
    batch = decoder().decode(values_of([*others, *given, *others]))
    assert len(rows(batch)) == 2 * around + 1
    found = reasons(batch)
    assert set(found) == {around + 1, around + 2}
    assert "field 'more': it has a value, and the schema has no such field" in found[around + 1]
    assert "field 'in.y': it has a value" in found[around + 2]
