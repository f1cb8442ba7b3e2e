"""JSON records of registered schemas: what each type takes, and what it does not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from floe_job.connect import logical
from floe_job.convert.typed.base import TypedBatch
from tests.support.job.formats.json_schema_orders import CONNECT, DECIMAL, ID, decoder, framed
from tests.support.kafka.messages import values_of

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
FIELD = "io.confluent.connect.json.OneOf.field."


def batch_of(schema: Any, values: Sequence[Any], **options: bool) -> TypedBatch:
    return decoder({ID: schema}, **options).decode(values_of([framed(value) for value in values]))


def rows(batch: TypedBatch) -> dict[int, Any]:
    return {
        i: row for part in batch.parts for i, row in zip(part.places.tolist(), part.column.to_pylist(), strict=True)
    }


def outcome(schema: Any, value: Any) -> Any:
    """Return a field's value, or why it is rejected: the same alone, among good records and among bad ones."""
    found = set()
    for around in ([], [{}] * 50, [{"v": []}, {"v": {"x": 1}}]):
        batch = batch_of({"type": "object", "properties": {"v": schema}}, [*around, {"v": value}])
        row = rows(batch).get(len(around))
        reasons = [one.reason for one in batch.rejected if one.index == len(around)]
        found.add(repr(reasons[0] if row is None else row["v"]))
    (same,) = found
    return same


@pytest.mark.parametrize(
    ("schema", "taken", "rejected"),
    [
        (WHOLE, {5: 5, 2.0: 2, 1e3: 1000, -(2**63): -(2**63)}, ("5", True, 2.5, 2**63, 10**400, {}, [], None)),
        ({**WHOLE, "connect.type": "int8"}, {-128: -128, 127: 127}, (128, -129, 1.5)),
        ({**WHOLE, "connect.type": "int32"}, {2**31 - 1: 2**31 - 1}, (2**31, -(2**31) - 1)),
        ({"type": "number"}, {5: 5.0, 1.5: 1.5, 0: 0.0}, ("1.5", True, 10**400, "NaN")),
        ({"type": "number", "connect.type": "float32"}, {1.5: 1.5}, (1e39, "1")),
        (TEXT, {"é": "é", "": ""}, (5, True, {}, ["a"], None)),
        ({"type": "boolean"}, {True: True, False: False}, (1, "true")),
        (
            {**TEXT, "connect.type": "bytes"},
            {"AQI=": b"\1\2", "": b"", " AQID AQI=\n": b"\1\2\3\1\2"},
            ("*", "AQ=I", "A", "AQI", 5),
        ),
        (DECIMAL, {"AQA=": Decimal("2.56"), 2.5: Decimal("2.50"), 7: Decimal("7.00")}, ("", "*", 2.555, 1e40, True)),
        ({**WHOLE, "title": f"{CONNECT}.Date"}, {1: date(1970, 1, 2)}, (1.5, "1970-01-01")),
        ({**WHOLE, "title": f"{CONNECT}.Time"}, {1: time(microsecond=1000)}, (-1, 86_400_000)),
        ({**WHOLE, "title": logical.TIMESTAMP}, {}, (2**62, "x")),
        ({"type": "array", "items": WHOLE}, {}, (5, {}, ["x"], [None])),
    ],
)
def test_values_are_what_their_schema_says(schema: Any, taken: dict[Any, Any], rejected: tuple[Any, ...]) -> None:
    for value, expected in taken.items():
        assert outcome(schema, value) == repr(expected)
    for value in rejected:
        assert outcome(schema, value).startswith(("'schema 7: field", '"schema 7: field')), value


def test_rejected_value_is_named_with_its_place() -> None:
    schema = {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "array", "items": WHOLE}}}}
    assert "field 'v.element.a.element': cannot convert string 'x' to int64" in outcome(schema, [{"a": [1, "x"]}])


@pytest.mark.parametrize("schema", [DECIMAL, TEXT, {**TEXT, "connect.type": "bytes"}, {"type": ["null", "string"]}])
def test_half_of_a_surrogate_pair_is_rejected_alone(schema: Any) -> None:
    values = {"type": "object", "connect.type": "map", "additionalProperties": schema}
    for kind, value in ((schema, b'"\\ud800"'), (values, b'{"a":"\\ud800"}'), (values, b'{"\\ud800":"AQ=="}')):
        batch = batch_of({"type": "object", "properties": {"v": kind}}, [b'{"v":%s}' % value, {}])
        assert [one.index for one in batch.rejected] == [0]
        assert len(rows(batch)) == 1


def test_digits_of_large_numbers_are_kept() -> None:
    assert rows(batch_of({"type": "object", "properties": {"v": WHOLE}}, [b'{"v": 9007199254740993.0}'])) == {
        0: {"v": 9007199254740993}
    }
    huge = Decimal("123456789012345678901234567890123456.78")
    assert rows(batch_of({"type": "object", "properties": {"v": DECIMAL}}, [f'{{"v": {huge}}}'.encode()])) == {
        0: {"v": huge}
    }


def test_absent_field_is_null_and_a_null_is_rejected() -> None:
    schema = {"type": "object", "properties": {"a": WHOLE, "b": TEXT, "c": {"type": ["null", "string"]}}}
    values = [{"a": 1, "c": None}, {"a": 2, "b": "null", "c": None}, {"a": 3, "b": None}, b'{"a":4,"\\u0062":null}', {}]
    for spaces in ((",", ":"), (", ", ": "), (" ,", " :")):
        texts = [one if isinstance(one, bytes) else json.dumps(one, separators=spaces).encode() for one in values]
        batch = batch_of(schema, texts)
        assert rows(batch) == {
            0: {"a": 1, "b": None, "c": None},
            1: {"a": 2, "b": "null", "c": None},
            4: {"a": None, "b": None, "c": None},
        }
        assert [one.index for one in batch.rejected] == [2, 3]


def test_nonrequired_field_may_be_null_if_the_option_says_so() -> None:
    schema = {"type": "object", "properties": {"a": WHOLE, "b": TEXT}, "required": ["a"]}
    batch = batch_of(schema, [{"a": 1, "b": None}, {"a": None, "b": "x"}], optional=True)
    assert rows(batch) == {0: {"a": 1, "b": None}}
    assert [one.index for one in batch.rejected] == [1]


def nullable(schema: Any, default: Any) -> Any:
    return {"oneOf": [{"type": "null"}, {**schema, "default": default}]}


DEFAULTS = {
    "type": "object",
    "properties": {
        "n": nullable(WHOLE, 5),
        "s": nullable({"type": "object", "properties": {"d": nullable(TEXT, "x")}}, {"d": "y"}),
        "v": nullable(DECIMAL, 2.5),
        "t": nullable({**WHOLE, "title": logical.TIMESTAMP}, 86_400_000),
        "b": nullable({**TEXT, "connect.type": "bytes"}, "AQI="),
    },
}
ABSENT = {"n": 5, "s": {"d": "y"}, "v": Decimal("2.50"), "t": datetime(1970, 1, 2, tzinfo=UTC), "b": b"\1\2"}


@pytest.mark.parametrize("around", [0, 1, 60])
def test_null_that_was_sent_stays_null_and_a_default_is_for_what_is_absent(around: int) -> None:
    nulls = dict.fromkeys(ABSENT)
    given = [{}, nulls, {"n": None, "s": {}}, {"n": 1, "s": {"d": None}}, {"s": None, "v": 1}]
    expected = [
        ABSENT,
        nulls,
        {**ABSENT, "n": None, "s": {"d": "x"}},
        {**ABSENT, "n": 1, "s": {"d": None}},
        {**ABSENT, "s": None, "v": Decimal("1.00")},
    ]
    others = [{"n": 7, "s": {"d": "z"}}] * around
    batch = batch_of(DEFAULTS, [*others, *given, *others])
    assert list(rows(batch).values())[around : around + 5] == expected
    assert [one.index for one in batch.rejected] == []
    assert batch.fast_rows >= 2 * around


@pytest.mark.parametrize("around", [0, 60])
def test_null_among_elements_and_entries_has_no_default(around: int) -> None:
    schema = {
        "type": "object",
        "properties": {
            "l": {"type": "array", "items": nullable(WHOLE, 5)},
            "m": {"type": "object", "additionalProperties": nullable(WHOLE, 5)},
            "strict": {"type": "array", "items": {**WHOLE, "default": 5}},
        },
    }
    only_lists = {"type": "object", "properties": {name: schema["properties"][name] for name in ("l", "strict")}}
    others = [{"l": [1], "strict": [1]}] * around
    for kind in (schema, only_lists):
        given = [{"l": [None, 1], "strict": [1]}, {"l": [], "strict": [1, None]}]
        batch = batch_of(kind, [*others, *given, *others])
        assert rows(batch)[around]["l"] == [None, 1]
        assert [one.index for one in batch.rejected] == [around + 1]
    assert rows(batch_of(schema, [{"l": [], "strict": [], "m": {"k": None}}])) == {
        0: {"l": [], "strict": [], "m": [("k", None)]}
    }


def test_null_is_rejected_where_only_a_default_is_allowed() -> None:
    schema = {"type": "object", "properties": {"n": {**WHOLE, "default": 5}, "b": TEXT}}
    batch = batch_of(schema, [{"b": "x"}, {"n": None, "b": "null"}, {"n": 1, "b": "y"}])
    assert rows(batch) == {0: {"n": 5, "b": "x"}, 2: {"n": 1, "b": "y"}}
    assert [(one.index, one.error) for one in batch.rejected] == [(1, "Malformed")]


def test_decimals_as_numbers_are_read_as_columns() -> None:
    schema = {"type": "object", "properties": {"v": DECIMAL}}
    numbers = batch_of(schema, [{"v": n / 4} for n in range(40)])
    assert list(rows(numbers).values()) == [{"v": Decimal(n) / 4} for n in range(40)]
    assert numbers.fast_rows == 40
    mixed = batch_of(schema, [{"v": 1234}, {"v": "1234"}, {"v": 0.5}])
    unscaled = int.from_bytes(b"\xd7\x6d\xf8", signed=True)
    assert rows(mixed) == {0: {"v": Decimal(1234)}, 1: {"v": Decimal(unscaled).scaleb(-2)}, 2: {"v": Decimal("0.50")}}


@pytest.mark.parametrize(
    "between", [":", "\t :", " \t:", "\n\n:", ":\n ", ":\r\n ", ":\n\t  ", "  :  ", " \r:\t"], ids=repr
)
def test_blanks_do_not_change_what_a_value_means(between: str) -> None:
    schema = {"type": "object", "properties": {"a/b": DECIMAL, "n": TEXT}}
    unscaled = int.from_bytes(b"\xd7\x6d\xf8", signed=True)
    for name in ("a/b", "a\\/b", "\\u0061/b"):
        texts = [f'{{"{name}"{between}"1234","n"{between}{one}}}'.encode() for one in ('"x"', "null")]
        batch = batch_of(schema, texts)
        assert rows(batch) == {0: {"a/b": Decimal(unscaled).scaleb(-2), "n": "x"}}
        assert [one.index for one in batch.rejected] == [1]


def test_texts_of_decimals_and_bytes_are_read_as_columns() -> None:
    schema = {"type": "object", "properties": {"v": DECIMAL, "b": {**TEXT, "connect.type": "bytes"}}}
    batch = batch_of(schema, [{"v": "AQA=", "b": "AAEC"}] * 40)
    assert list(rows(batch).values()) == [{"v": Decimal("2.56"), "b": b"\0\1\2"}] * 40
    assert batch.fast_rows == 40


def test_maps_and_unions_are_read() -> None:
    a, b = ({"type": "object", "properties": dict.fromkeys(names, TEXT)} for names in ("xy", "xz"))
    schema = {
        "type": "object",
        "properties": {
            "m": {"type": "object", "connect.type": "map", "additionalProperties": {"type": ["null", "integer"]}},
            "k": {
                "type": "array",
                "connect.type": "map",
                "items": {"type": "object", "properties": {"key": WHOLE, "value": TEXT}},
            },
            "u": {"oneOf": [{"type": "null"}, {**WHOLE, "connect.type": "int8"}, {"type": "number"}, TEXT, a, b]},
        },
    }
    good = [
        {"m": {"a": 1, "b": None}, "k": [{"key": 1, "value": "x"}], "u": 5},
        {"m": {}, "k": [], "u": 500},
        {"u": "t"},
        {"u": {"x": "1", "z": "2"}},
        {"u": {}},
        {"u": None},
    ]
    bad = [{"m": {"a": "1"}}, {"k": [{"key": 1}]}, {"k": {"1": "x"}}, {"u": True}, {"u": [1]}, {"m": None}]
    batch = batch_of(schema, good + bad)
    found = rows(batch)
    assert [one.index for one in batch.rejected] == list(range(len(good), len(good) + len(bad)))
    assert (found[0]["m"], found[0]["k"]) == ([("a", 1), ("b", None)], [(1, "x")])
    chosen = [
        {name[-1]: value for name, value in (row["u"] or {}).items() if value is not None} for row in found.values()
    ]
    assert chosen == [
        {"0": 5},
        {"1": 500.0},
        {"2": "t"},
        {"4": {"x": "1", "z": "2"}},
        {"3": {"x": None, "y": None}},
        {},
    ]


@pytest.mark.parametrize(("flatten", "found"), [(True, 5), (False, {f"{FIELD}0": 5})])
def test_choice_of_one_is_that_one_if_the_option_says_so(flatten: bool, found: Any) -> None:
    schema = {"type": "object", "properties": {"a": {"oneOf": [{"type": "integer"}]}}, "required": ["a"]}
    batch = batch_of(schema, [{"a": 5}, {"a": "x"}], flatten_singletons=flatten)
    assert rows(batch) == {0: {"a": found}}
    assert [one.index for one in batch.rejected] == [1]


def test_value_that_is_no_object_is_read() -> None:
    batch = batch_of({"type": ["null", "string"]}, [b'"a"', b"null", b"5", b'"b"'])
    assert rows(batch) == {0: "a", 1: None, 3: "b"}
    assert [one.index for one in batch.rejected] == [2]


def test_names_with_dots_are_no_fields_of_structs() -> None:
    schema = {
        "type": "object",
        "properties": {"a.b": WHOLE, "a": {"type": "object", "properties": {"b": TEXT}}, 'q"': WHOLE},
    }
    assert rows(batch_of(schema, [{"a.b": 1, "a": {"b": "x"}, 'q"': 2}])) == {0: {"a.b": 1, "a": {"b": "x"}, 'q"': 2}}


def test_text_that_is_no_json_is_rejected_alone() -> None:
    schema = {"type": "object", "properties": {"a": TEXT}}
    bad = (b'{"a":"\xff"}', b'{"a":"x"', b'{"a":"x"}{"a":"y"}', b'{"a":"\\ud800"}', b"[]", b"null", b"", b"{" * 100)
    batch = batch_of(schema, [*({"a": "x"},) * 40, *bad, *({"a": "y"},) * 40])
    assert [one.index for one in batch.rejected] == list(range(40, 40 + len(bad)))
    assert [row["a"] for row in rows(batch).values()] == ["x"] * 40 + ["y"] * 40


def test_records_of_several_schemas_are_told_apart() -> None:
    schemas = {1: {"type": "object", "properties": {"a": WHOLE}}, 2: {"type": "object", "properties": {"b": TEXT}}}
    values = [framed({"a": n} if n % 2 else {"b": str(n)}, 1 if n % 2 else 2) for n in range(50)]
    for given in (values, values_of(values)):
        batch = decoder(schemas).decode(given)
        assert rows(batch) == {n: {"a": n} if n % 2 else {"b": str(n)} for n in range(50)}
        assert batch.fast_rows == 50


def test_schema_of_another_type_or_unusable_rejects_its_records() -> None:
    reasons = [one.reason for one in batch_of({"const": 1}, [{}, {}]).rejected]
    assert reasons == ["schema 7: the schema has {'const': 1}, which says no type that Kafka Connect has"] * 2


@pytest.mark.parametrize("around", [0, 60])
def test_property_that_the_schema_has_not_is_rejected_and_not_lost(around: int) -> None:
    inner = {"type": "object", "properties": {"x": WHOLE}}
    schema = {"type": "object", "properties": {"a": WHOLE, "in": inner, "l": {"type": "array", "items": inner}}}
    good = {"a": 1, "in": {"x": 1}, "l": [{"x": 1}]}
    bad = [{**good, "b": 5}, {**good, "in": {"x": 1, "y": 0}}, {**good, "l": [{"x": 1, "z": False}]}]
    others = [good] * around
    batch = batch_of(schema, [*others, {**good, "b": None}, *bad, *others])
    assert len(rows(batch)) == 2 * around + 1
    found = {one.index - around - 1: one for one in batch.rejected}
    assert {place: one.error for place, one in found.items()} == dict.fromkeys(range(3), "Malformed")
    for place, path in enumerate(("'b'", "'in.y'", "'l.element.z'")):
        assert f"field {path}: it has a value, and its schema has no such property" in found[place].reason


def test_object_of_any_names_and_one_type_is_a_map() -> None:
    counts = {"type": "object", "additionalProperties": WHOLE}
    named = {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": TEXT}}}
    schema = {
        "type": "object",
        "properties": {"counts": counts, "named": named, "list": {"type": "array", "items": counts}},
    }
    values = [{"counts": {"a": 1, "b": 2}, "named": {"k": {"x": "v"}}, "list": [{}, {"c": 3}]}, {"counts": {"a": "x"}}]
    batch = batch_of(schema, values)
    assert rows(batch) == {0: {"counts": [("a", 1), ("b", 2)], "named": [("k", {"x": "v"})], "list": [[], [("c", 3)]]}}
    assert [one.index for one in batch.rejected] == [1]


@pytest.mark.parametrize("more", [{"additionalProperties": WHOLE}, {"patternProperties": {"^b": WHOLE}}, {}])
def test_property_beside_the_named_ones_is_rejected(more: dict[str, Any]) -> None:
    batch = batch_of({"type": "object", "properties": {"a": WHOLE}, **more}, [{"a": 1, "b": 2}, {"a": 3}])
    assert rows(batch) == {1: {"a": 3}}
    assert [one.index for one in batch.rejected] == [0]


def test_object_of_anything_is_rejected_unless_it_is_empty() -> None:
    schema = {"type": "object", "properties": {"a": WHOLE, "free": {"type": "object", "additionalProperties": True}}}
    batch = batch_of(schema, [{"a": 1, "free": {}}, {"a": 2, "free": {"k": 1}}])
    assert [one.index for one in batch.rejected] == [1]
