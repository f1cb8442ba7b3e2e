"""What headers hold; ``tests/integration/java/test_header_texts.py`` asks Kafka Connect itself."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from floe_job.connect import logical
from floe_job.connect.schema import ConnectSchema, Kind, array, map_of, struct
from floe_job.types.header_texts import header_text, literal_text
from floe_job.types.header_texts.header_text import in_hash_order
from floe_job.types.header_texts.values import nearest_single
from floe_job.types.numbers import HugeInteger, Single
from floe_job.types.typed_values import Day, DayTime, Meant, Moment

STRING = ConnectSchema(Kind.STRING)


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ("", ""),
        ("  ", "  "),
        ("null", None),
        ("true", "true"),
        ("True", "True"),
        ("1.50", "1.5"),
        ("1.00", "1"),
        ("3000000000", "3000000000"),
        ("0.123456789", "0.12345679"),
        ("1e40", "1.0E40"),
        ("1e400", "1E+400"),
        ("99999999999999999999", "99999999999999999999"),
        ("1,2", "1"),
        ("a,b", "a,b"),
        ('"a"', '"a"'),
        ("[1,2]", "[1,2]"),
        ("[1, 2.5]", "[1.0,2.5]"),
        ("[ ]", "[]"),
        ("[1,null]", "[1,null]"),
        ("[1,a]", "[1,a]"),
        ('{"a":1}', '{"a":1}'),
        ('{"a":1,"a":2.5, 1:"b"}', '{"a":2.5,1:"b"}'),
        ('{"a": null}', '{"a":null}'),
        ("{a:1}", "{a:1}"),
        ('["2019-08-23", 3]', "[2019-08-23,1970-01-04]"),
        ("2019-08-23", "2019-08-23"),
        ("2019-13-01", "2020-01-01"),
        ("1969-12-31", "00:00:00.000Z"),
        ("2019-08-23T14:34:54.346Z", "2019-08-23T14:34:54.346Z"),
        ("14:34:54.346Z", "14:34:54.346Z"),
        ('["a\\"b"]', '["a\\\\\\"b"]'),
    ],
)
def test_literal_is_written_as_by_connect(literal: str, text: str | None) -> None:
    assert literal_text(literal) == (None if text is None else text.encode())


def test_literal_that_is_nested_too_deep_is_refused() -> None:
    assert literal_text("[" * 100 + "]" * 100) == b"[" * 100 + b"]" * 100
    with pytest.raises(ValueError, match="write a flatter one"):
        literal_text("[" * 100_000)


def test_number_between_two_floats_is_told_by_its_digits() -> None:
    assert nearest_single(Decimal("16777217.0000000000000000001")) == 16777218
    assert nearest_single(Decimal("16777217.0")) == 16777216
    assert nearest_single(Decimal("16777218.9999999999999999999")) == 16777218
    assert nearest_single(Decimal("3.40282356779733661637539395458142568447E38")) < 3.5e38


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (None, None, None),
        (None, 'a"b', 'a"b'),
        (None, {"b": 'a"b', "a": [1, 1.5, True, None]}, '{"a":[1,1.5,true,null],"b":"a\\"b"}'),
        (None, float("-inf"), "-Infinity"),
        (None, [b"ab"], '["YWI="]'),
        (None, b"ab", "YWI="),
        (None, Single(0.1), "0.1"),
        (ConnectSchema(Kind.FLOAT32), 0.10000000149011612, "0.1"),
        (None, Decimal("1.50"), "1.50"),
        (None, Decimal("1E-10"), "1E-10"),
        (None, Day(18_000), "2019-04-14"),
        (None, DayTime(1_000), "00:00:00.001Z"),
        (None, DayTime(1_000, 1_000), "1000"),
        (None, Moment(1_700_000_000_123_000), "2023-11-14T22:13:20.123Z"),
        (None, Meant(5, Day(5)), "5"),
        (None, "\ud800", "?"),
        (None, "\ud83d\ude00", "\U0001f600"),
        (array(STRING), ["a", None], '["a",null]'),
        (map_of(ConnectSchema(Kind.INT64), STRING), {-1: "a", 0: "b", 17: "c"}, '{-1:"a",0:"b",17:"c"}'),
        (map_of(ConnectSchema(Kind.INT32), STRING), {-1: "a", 0: "b", 17: "c"}, '{-1:"a",0:"b",17:"c"}'),
        (struct({"z": STRING, "a": STRING}), {"a": "1", "z": None}, '{"z":null,"a":"1"}'),
    ],
)
def test_value_is_written_as_by_connect(schema: ConnectSchema | None, value: Any, text: str | None) -> None:
    assert header_text(schema, value) == (None if text is None else text.encode())


def test_null_of_a_struct_stays_null_whatever_its_default() -> None:
    moment = ConnectSchema(Kind.INT64, True, logical.TIMESTAMP, default=datetime(2020, 1, 1, 1, tzinfo=UTC))
    schema = struct({"a": ConnectSchema(Kind.INT32, True, default=7), "b": moment})
    assert header_text(schema, {"a": None, "b": None}) == b'{"a":null,"b":null}'


def test_keys_stand_in_the_order_of_a_hash_map() -> None:
    names = dict.fromkeys(("id", "name", "created_at", "zone", "a", "B"))
    assert [name for name, _ in in_hash_order(names, is_long=True)] == ["a", "B", "zone", "name", "created_at", "id"]


def test_keys_that_collide_are_refused() -> None:
    names = [""]
    for _ in range(5):
        names = [name + pair for name in names for pair in ("Aa", "BB")]
    with pytest.raises(ValueError, match="order is not known"):
        header_text(None, dict.fromkeys(names, 1))


@pytest.mark.parametrize(
    ("value", "problem"), [(2**63, "64"), (HugeInteger("9" * 5000), "no value"), (object(), "no value")]
)
def test_value_that_connect_has_not_is_refused(value: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        header_text(None, value)


def test_value_that_is_nested_too_deep_is_refused() -> None:
    value: Any = 1
    for _ in range(5_000):
        value = [value]
    with pytest.raises(ValueError, match="inside one another"):
        header_text(None, value)
