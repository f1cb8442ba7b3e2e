"""Transforms of fields on columns, where a field's place, name or type is odd: the rows are those of the exact way."""

from __future__ import annotations

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField, StringType, StructType, TimestamptzType

from floe.config.sections.routing import Routing
from floe.config.sections.transforms import TransformSpec
from floe_job.schema.proposal import ColumnRules
from floe_job.transform.chain import Chain
from floe_job.transform.field_steps.plan import FieldPlan, FieldRows
from tests.support.cpu import least_cpu_seconds
from tests.support.job.converters import JSON_CONVERTERS
from tests.support.job.transforms import transform
from tests.support.kafka.messages import PIECE, records

TEXT_AND_NUMBER = Schema(
    NestedField(1, "a", StringType(), required=False), NestedField(2, "b", LongType(), required=False)
)
STRUCT = Schema(
    NestedField(1, "a", StringType(), required=False),
    NestedField(2, "f", StructType(NestedField(3, "x", LongType(), required=False)), required=False),
)
RENAME = transform("ReplaceField$Value", renames="x:a")
CASES: dict[str, tuple[Schema, list[TransformSpec], list[bytes]]] = {
    "a field is inserted, and another renamed to it": (
        TEXT_AND_NUMBER,
        [transform("InsertField$Value", topic_field="a"), RENAME],
        [b'{"x":"q"}', b'{"b":1}'],
    ),
    "a field is cast, and another renamed to it": (
        TEXT_AND_NUMBER,
        [transform("Cast$Value", spec="a:string"), RENAME],
        [b'{"x":"q"}'],
    ),
    "a field is inserted, and included": (
        TEXT_AND_NUMBER,
        [transform("InsertField$Value", topic_field="q"), transform("ReplaceField$Value", include="a,q")],
        [b'{"a":"q"}'],
    ),
    "a field without a column cannot be cast": (
        TEXT_AND_NUMBER,
        [transform("Cast$Value", spec="z:int8")],
        [b'{"a":"q","z":"no"}', b'{"a":"r","z":1}'],
    ),
    "a field that is dropped cannot be cast": (
        TEXT_AND_NUMBER,
        [transform("Cast$Value", spec="z:int8"), transform("ReplaceField$Value", exclude="z")],
        [b'{"a":"q","z":"no"}', b'{"a":"r","z":1}'],
    ),
    "a replacement is too large for the column": (
        Schema(NestedField(1, "i", IntegerType(), required=False)),
        [transform("MaskField$Value", fields="i", replacement="5000000000")],
        [b'{"i":1}', b'{"i":null}'],
    ),
    "a dropped field has the name of a path": (
        STRUCT,
        [transform("ReplaceField$Value", include="a,f")],
        [b'{"f":{"x":1},"f.x":1}'],
    ),
    "a dropped field's name is no Unicode": (
        STRUCT,
        [transform("ReplaceField$Value", include="a,f")],
        [b'{"f":{"x":1},"\\ud800":1}'],
    ),
    "a converted field was renamed away": (
        Schema(NestedField(1, "t", TimestamptzType(), required=False)),
        [
            transform("ReplaceField$Value", renames="t:q"),
            transform("TimestampConverter$Value", field="t", target_type="Time"),
        ],
        [b'{"t":1}', b'{"z":2}'],
    ),
    "a key is written with a quote": (
        TEXT_AND_NUMBER,
        [transform("ReplaceField$Value", renames='x:a"b'), transform("ReplaceField$Value", renames='a"b:a')],
        [b'{"x":"q","a\\"b":"r"}'],
    ),
    "the table has no columns": (
        Schema(),
        [transform("ReplaceField$Value", exclude="z")],
        [b'{"a":1}', b"7", b'{"z":1}'],
    ),
}


def rows_of(schema: Schema, chain: Chain, raw: list[bytes], *, evolve: bool, columns: bool) -> tuple[object, ...]:
    rules = ColumnRules(evolve=evolve)
    table = JSON_CONVERTERS.for_table(schema, rules, create=False)
    rows = chain.field_rows(schema if columns else None, rules, table, JSON_CONVERTERS)
    assert isinstance(rows, FieldRows)
    decoded = rows.decode(records(PIECE, raw))
    found = None if decoded.table is None else decoded.table.to_pylist()
    return found, decoded.rejected, table.needs.columns, table.needs.promotions


@pytest.mark.parametrize("evolve", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_odd_fields_give_the_same_rows(name: str, evolve: bool) -> None:
    schema, specs, raw = CASES[name]
    chain = Chain(specs, Routing())
    by_columns, by_values = (rows_of(schema, chain, raw, evolve=evolve, columns=which) for which in (True, False))
    assert by_columns == by_values


def test_texts_with_many_escapes_are_read_once() -> None:
    """A megabyte of escaped quotes, closed or not, is searched for keys in one pass."""
    chain = Chain([RENAME], Routing())
    long = b'\\n\\"' * 250_000
    rows = chain.field_rows(
        TEXT_AND_NUMBER,
        ColumnRules(),
        JSON_CONVERTERS.for_table(TEXT_AND_NUMBER, ColumnRules(), create=False),
        JSON_CONVERTERS,
    )
    assert rows is not None
    given = records(PIECE, [b'{"b":1,"x":"' + long + b'"}', b'{"b":1,"x":"' + long])
    decoded = rows.decode(given)
    assert least_cpu_seconds(lambda: rows.decode(given)) < 5
    assert [one.index for one in decoded.rejected] == [1]


def test_dropped_fields_of_many_names_are_not_read() -> None:
    """Fields that hostile records choose are no columns of what is read."""
    chain = Chain([transform("ReplaceField$Value", include="a")], Routing())
    raw = [b'{"a":"x",' + b",".join(b'"n%d_%d":1' % (row, i) for i in range(100)) + b"}" for row in range(10)]
    assert rows_of(TEXT_AND_NUMBER, chain, raw, evolve=False, columns=True)[0] == [{"a": "x", "b": None}] * 10
    changes = [step.change for step in chain._field_steps]
    plan = FieldPlan.of(TEXT_AND_NUMBER, ColumnRules(), changes)
    assert plan is not None
    assert plan._dropped(raw) == {}
    assert set(plan._dropped(raw[:1])) == {f"n0_{i}" for i in range(100)}
