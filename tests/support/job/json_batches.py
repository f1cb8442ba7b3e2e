"""Batches of JSON records for tables of any columns, and the rules of their columns."""

from __future__ import annotations

import json

from hypothesis import strategies as st
from pyiceberg.schema import Schema, assign_fresh_schema_ids, index_by_id
from pyiceberg.table.name_mapping import MappedField, NameMapping
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from floe_job.schema.proposal import ColumnRules
from tests.support.job.column_types import primitives
from tests.support.job.json_records import NAMES, hollow, records


def structs(types: st.SearchStrategy[IcebergType]) -> st.SearchStrategy[StructType]:
    field = st.tuples(st.sampled_from(NAMES), types, st.booleans())
    return st.lists(field, min_size=1, max_size=4, unique_by=lambda drawn: drawn[0]).map(
        lambda fields: StructType(
            *(
                NestedField(100 + i, name, of, required=required and i == 1)
                for i, (name, of, required) in enumerate(fields)
            )
        )
    )


types = st.recursive(
    primitives((4, 2), (9, 2), (38, 10), (38, 38)),
    lambda inner: st.one_of(
        structs(inner),
        st.builds(lambda of, required: ListType(100, of, element_required=required), inner, st.booleans()),
        inner.map(lambda of: MapType(100, StringType(), 101, of, value_required=False)),
    ),
    max_leaves=4,
)


schemas = structs(types).map(lambda struct: assign_fresh_schema_ids(Schema(*struct.fields)))


def fitting(of: IcebergType) -> st.SearchStrategy[str]:
    """Values that mostly fit a column, so that the columnar path gets somewhere."""
    fits: dict[type, st.SearchStrategy[str]] = {
        BooleanType: st.sampled_from(["true", "false"]),
        IntegerType: st.integers(-(2**31), 2**31 - 1).map(str),
        LongType: st.integers(-(2**63), 2**63 - 1).map(str),
        FloatType: st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr)
        | st.floats(-1e38, 1e38).map(repr),
        DoubleType: st.floats(allow_nan=False, allow_infinity=False).map(repr) | st.integers(-(2**70), 2**70).map(str),
        StringType: st.text(max_size=8).map(json.dumps),
        DateType: st.dates().map(lambda d: f'"{d.isoformat()}"'),
        TimeType: st.times().map(lambda t: f'"{t.isoformat()}"'),
        DecimalType: (st.decimals(-200, 200, places=1) | st.decimals(-(10**6), 10**6, places=2)).map(str),
        UUIDType: st.uuids().map(lambda u: f'"{u}"'),
        BinaryType: st.just('"aGk="'),
        FixedType: st.just('"aGk="'),
    }
    if isinstance(of, StructType):
        return fitting_object(of)
    if isinstance(of, ListType):
        elements = st.lists(fitting(of.element_type), max_size=3) | st.lists(st.just("null"), max_size=3)
        return elements.map(lambda drawn: "[" + ",".join(drawn) + "]")
    if isinstance(of, MapType):
        return fitting(of.value_type).map(lambda value: f'{{"k":{value}}}')
    if isinstance(of, TimestampType | TimestamptzType):
        zones = st.sampled_from(["", "Z", "+01:00", "-0930"])
        return st.tuples(st.datetimes(), zones).map(lambda drawn: f'"{drawn[0].isoformat()}{drawn[1]}"')
    return fits[type(of)]


@st.composite
def fitting_object(draw: st.DrawFn, of: StructType) -> str:
    entries = [
        f"{json.dumps(draw(spelled(field.name)))}:{draw(fitting(field.field_type) | st.just('null'))}"
        for field in of.fields
        if draw(st.integers(0, 9))
    ]
    if not draw(st.integers(0, 5)):
        entries.append(f'"extra":{draw(st.sampled_from(["1", "1.5"]) | hollow)}')
    return "{" + ",".join(entries) + "}"


def spelled(name: str) -> st.SearchStrategy[str]:
    """Names mostly in one case, as a producer would write them."""
    return st.sampled_from([name] * 6 + [name.upper(), name.lower()])


@st.composite
def batches(draw: st.DrawFn) -> tuple[Schema, list[bytes]]:
    schema = draw(schemas)
    good = fitting_object(schema.as_struct()).map(str.encode)
    kind = draw(st.sampled_from(["good", "mixed", "wild"]))
    record = {"good": good, "mixed": st.one_of(good, good, good, records), "wild": records}[kind]
    return schema, draw(st.lists(record, max_size=12))


@st.composite
def mappings(draw: st.DrawFn, schema: Schema) -> NameMapping | None:
    """A mapping of some of a schema's columns to names that others have, or none has."""
    if draw(st.booleans()):
        return None
    ids = [field_id for field_id in index_by_id(schema) if draw(st.booleans())]
    spellings = st.lists(st.sampled_from([*NAMES, "z", "A", "B"]), max_size=3, unique=True)
    return NameMapping([MappedField(**{"field-id": i, "names": draw(spellings)}) for i in ids])


rules = st.builds(
    ColumnRules,
    evolve=st.booleans(),
    case_insensitive=st.booleans(),
    on_conflict=st.sampled_from(["dead-letter", "string", "fail"]),
    injected=st.sampled_from([frozenset(), frozenset(), frozenset({"a"}), frozenset({"z", "b"})]),
)


@st.composite
def hollow_batches(draw: st.DrawFn) -> tuple[Schema, list[bytes]]:
    """Records that mostly say nothing, inside columns and beside them, and some for the exact path among them.

    One of the columns' types is drawn, and all names are others in files.
    """
    item = StructType(NestedField(100, "a b", LongType(), required=False))
    entries = MapType(101, StringType(), 102, item, value_required=False)
    items = ListType(103, item, element_required=False)
    of, full = draw(
        st.sampled_from(
            [
                (item, '{"a b":1%s}'),
                (entries, '{"k":{"a b":1%s}}'),
                (items, '[{"a b":1%s}]'),
                (ListType(104, entries, element_required=False), '[{"k":{"a b":1%s}}]'),
                (ListType(104, items, element_required=False), '[[{"a b":1%s}]]'),
                (StructType(NestedField(104, "a b", items, required=False)), '{"a b":[{"a b":2%s}]}'),
            ]
        )
    )
    beside = st.just("") | hollow.map(lambda value: f',"K":{value}')
    column = st.just("null") | hollow | beside.map(lambda more: full % more)
    record = st.builds(
        lambda number, value, more: f'{{"i d":{number},"l":{value}{more}}}'.encode(),
        st.sampled_from(["1"] * 9 + ['"5"', "1.5"]),
        column,
        beside,
    )
    fields = [NestedField(1, "i d", LongType(), required=False), NestedField(2, "l", of, required=False)]
    return assign_fresh_schema_ids(Schema(*fields)), draw(st.lists(record, min_size=1, max_size=12))
