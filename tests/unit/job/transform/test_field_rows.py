"""Transforms of fields, on columns and value by value: the same rows."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BooleanType,
    DecimalType,
    DoubleType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
)

from floe.config.sections.routing import Routing
from floe.config.sections.transforms import TransformSpec
from floe_job.schema.proposal import ColumnRules
from floe_job.transform.chain import Chain
from floe_job.transform.field_steps.plan import FieldRows
from tests.support.job.converters import JSON_CONVERTERS
from tests.support.job.transforms import transform
from tests.support.kafka.messages import PIECE, records

TYPES = {
    "a": StringType(),
    "b": LongType(),
    "c": DoubleType(),
    "d": BooleanType(),
    "e": DecimalType(9, 2),
    "f": StructType(NestedField(20, "x", LongType(), required=False)),
    "t": TimestamptzType(),
}
SCHEMA = Schema(*(NestedField(i + 1, name, kind, required=False) for i, (name, kind) in enumerate(TYPES.items())))
CHAINS: dict[str, list[TransformSpec]] = {
    "exclude": [transform("ReplaceField$Value", exclude="b,z")],
    "include": [transform("ReplaceField$Value", include="a,b,z")],
    "rename": [transform("ReplaceField$Value", renames="x:v,b:w")],
    "swap": [transform("ReplaceField$Value", renames="a:b,b:a")],
    "rename, exclude": [transform("ReplaceField$Value", exclude="a,c", renames="x:a,b:c")],
    "insert": [
        transform(
            "InsertField$Value",
            topic_field="a",
            offset_field="b",
            timestamp_field="t",
            static_field="x",
            static_value="!",
        )
    ],
    "insert others": [
        transform("InsertField$Value", partition_field="b", timestamp_field="b2", static_field="c", static_value="1")
    ],
    "insert, rename": [
        transform("InsertField$Value", static_field="q", static_value="!"),
        transform("ReplaceField$Value", renames="q:a,b:z"),
    ],
    "cast": [transform("Cast$Value", spec="b:int32,c:float64")],
    "cast to text": [transform("Cast$Value", spec="n:string"), transform("ReplaceField$Value", renames="n:a")],
    "cast to byte": [transform("Cast$Value", spec="b:int8")],
    "mask": [transform("MaskField$Value", fields="a,b,d")],
    "mask by": [transform("MaskField$Value", fields="b", replacement="42")],
    "mask by none": [transform("MaskField$Value", fields="a,b", replacement="x")],
    "unix": [
        transform("TimestampConverter$Value", field="n", target_type="Timestamp"),
        transform("ReplaceField$Value", renames="n:t"),
    ],
    "seconds": [transform("TimestampConverter$Value", field="t", target_type="Date", unix_precision="seconds")],
    "micros": [
        transform("TimestampConverter$Value", field="n", target_type="unix", unix_precision="microseconds"),
        transform("ReplaceField$Value", renames="n:b"),
    ],
    "text": [
        transform("TimestampConverter$Value", field="m", target_type="Timestamp", format="yyyy-MM-dd HH:mm:ss"),
        transform("ReplaceField$Value", renames="m:t"),
    ],
    "text to unix": [
        transform("TimestampConverter$Value", field="m", target_type="unix", format="yyyy-MM-dd HH:mm:ss"),
        transform("ReplaceField$Value", renames="m:b"),
    ],
    "text to time": [
        transform("TimestampConverter$Value", field="m", target_type="Time", format="yyyy-MM-dd HH:mm:ss"),
        transform("ReplaceField$Value", renames="m:t"),
    ],
    "to text": [
        transform("TimestampConverter$Value", field="b", target_type="string", format="yyyy-MM-dd"),
        transform("ReplaceField$Value", renames="b:a"),
    ],
    "all": [
        transform("InsertField$Value", topic_field="a", offset_field="o"),
        transform("ReplaceField$Value", exclude="x,z", renames="n:b"),
        transform("TimestampConverter$Value", field="m", target_type="Timestamp", format="yyyy-MM-dd HH:mm:ss"),
        transform("ReplaceField$Value", renames="m:t"),
    ],
    "two": [
        transform("ReplaceField$Value", renames="x:y"),
        transform("ReplaceField$Value", renames="y:a", include="y,b,z"),
    ],
}
SLOW = ("swap", "insert others", "mask by none", "to text", "seconds")
"""Chains whose records all go the exact way."""

VALUES: dict[str, tuple[Any, ...]] = {
    "a": ("text", "é", "", None, 7, 1.5, True, {"k": 1}),
    "b": (1, -5, 2**40, None, "12", 1.5, "no"),
    "c": (1.5, -0.25, 3, None, "2.5", 1e300),
    "d": (True, False, None, "true", 0),
    "e": (1.25, 3, None, "4.50", 99999999999),
    "f": ({"x": 1}, {}, None, {"x": 2, "y": 3}, 5),
    "t": ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05+01:00", None, 1_700_000_000_000, "no"),
    "x": ("x", "y", None, 3, 2.5, True),
    "n": (1_700_000_000, 1_700_000_000_000, None, -1, 2**62, "3", 1.5, True),
    "m": (
        "2024-01-02 03:04:05",
        "1999-12-31 23:59:59",
        None,
        "2024-13-45 03:04:05",
        "2024-1-2 3:4:5",
        7,
        "no",
        "0001-01-01 00:00:00",
    ),
    "z": (1, None, 2, {"q": [1]}, "z"),
}


def record(random: Random, wild: float) -> bytes:
    names = random.sample(sorted(VALUES), random.randrange(len(VALUES)))
    value = {}
    for name in names:
        choices = VALUES[name]
        value[name] = random.choice(choices if random.random() < wild else choices[:3])
    text = json.dumps(value, ensure_ascii=random.random() < 0.5)
    return (text if random.random() < 0.995 else random.choice(("[1]", "7", "{", '{"\\u0061":null,"x":1}'))).encode()


def rows_of(chain: Chain, raw: list[bytes], rules: ColumnRules, *, columns: bool) -> tuple[Any, ...]:
    table = JSON_CONVERTERS.for_table(SCHEMA, rules, create=False)
    rows = chain.field_rows(SCHEMA if columns else None, rules, table, JSON_CONVERTERS)
    assert isinstance(rows, FieldRows)
    decoded = rows.decode(records(PIECE, raw))
    found = None if decoded.table is None else decoded.table.to_pylist()
    return found, decoded.rejected, table.needs.columns, decoded.fast_rows


@pytest.mark.parametrize("evolve", [False, True])
@pytest.mark.parametrize("name", CHAINS)
def test_columns_and_values_give_the_same_rows(name: str, evolve: bool) -> None:
    chain = Chain(CHAINS[name], Routing())
    rules = ColumnRules(evolve=evolve)
    fast = 0
    for seed in range(6):
        random = Random(seed)
        raw = [record(random, random.choice((0, 0, 0.02))) for _ in range(random.choice((1, 40, 300)))]
        *by_columns, count = rows_of(chain, raw, rules, columns=True)
        *by_values, _ = rows_of(chain, raw, rules, columns=False)
        assert by_columns == by_values, seed
        fast += count
    assert evolve or fast > 50 or name in SLOW


def test_steps_that_decide_the_route_stay_before_it() -> None:
    specs = [transform("ReplaceField$Value", renames="x:a")]
    for routing, is_left in ((Routing(), True), (Routing("field", ("b",)), True), (Routing("field", ("a",)), False)):
        assert Chain(specs, routing).is_columnar is is_left
    assert not Chain(specs).is_columnar, "values with schemas are columns before they are routed"
