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
from floe_job.schema.rules import ColumnRules
from floe_job.transform.chain import Chain
from floe_job.transform.field_steps.rows import FieldRows
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
    "two": [
        transform("ReplaceField$Value", renames="x:y"),
        transform("ReplaceField$Value", renames="y:a", include="y,b,z"),
    ],
}
VALUES: dict[str, tuple[Any, ...]] = {
    "a": ("text", "é", "", None, 7, 1.5, True, {"k": 1}),
    "b": (1, -5, 2**40, None, "12", 1.5, "no"),
    "c": (1.5, -0.25, 3, None, "2.5", 1e300),
    "d": (True, False, None, "true", 0),
    "e": (1.25, 3, None, "4.50", 99999999999),
    "f": ({"x": 1}, {}, None, {"x": 2, "y": 3}, 5),
    "t": ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05+01:00", None, 1_700_000_000_000, "no"),
    "x": ("x", "y", None, 3, 2.5, True),
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
    for seed in range(12):
        random = Random(seed)
        raw = [record(random, random.choice((0, 0, 0.02))) for _ in range(random.choice((1, 40, 300)))]
        *by_columns, count = rows_of(chain, raw, rules, columns=True)
        *by_values, _ = rows_of(chain, raw, rules, columns=False)
        assert by_columns == by_values, seed
        fast += count
    assert evolve or fast > 100 or name == "swap", "text does not become a number as a column"


def test_steps_that_decide_the_route_stay_before_it() -> None:
    specs = [transform("ReplaceField$Value", renames="x:a")]
    for routing, is_left in ((Routing(), True), (Routing("field", ("b",)), True), (Routing("field", ("a",)), False)):
        assert Chain(specs, routing).is_columnar is is_left
    assert not Chain(specs).is_columnar, "values with schemas are columns before they are routed"
