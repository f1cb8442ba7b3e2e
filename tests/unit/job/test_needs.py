"""Needed columns: merged over tasks, added to a table anywhere in its tree."""

from __future__ import annotations

import pickle

from pyiceberg.schema import Schema
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.types import ListType, LongType, MapType, NestedField, StringType, StructType

from floe_job.infer import ListOf, StructOf
from floe_job.needs import SchemaNeeds
from tests.unit.job.conftest import TableFactory

POINT = StructType(NestedField(10, "x", LongType(), required=False))
SCHEMA = Schema(
    NestedField(1, "a", LongType(), required=False),
    NestedField(2, "s", POINT, required=False),
    NestedField(3, "l", ListType(4, StructType(NestedField(11, "x", LongType())), element_required=False)),
    NestedField(
        5, "m", MapType(6, StringType(), 7, StructType(NestedField(12, "x", LongType())), value_required=False)
    ),
)


def names(schema: Schema) -> list[str]:
    return [line.split(": ", 1)[1] for line in str(schema).splitlines() if ": " in line]


def test_needs_travel_between_processes() -> None:
    needs = SchemaNeeds({("a",): "long", ("l", "element", "y"): ListOf(StructOf((("q", "string"),)))})
    assert pickle.loads(pickle.dumps(needs)) == needs  # noqa: S301
    assert needs
    assert not SchemaNeeds()


def test_merging_keeps_the_order_seen_and_the_first_type() -> None:
    needs = SchemaNeeds({("b",): "long", ("a",): "string"})
    needs.merge(SchemaNeeds({("c",): "boolean", ("a",): "long", ("b",): "double"}))
    assert list(needs.columns.items()) == [(("b",), "double"), (("a",), "string"), (("c",), "boolean")]


def test_columns_are_added_anywhere_in_the_tree(new_table: TableFactory) -> None:
    table = new_table(SCHEMA)
    needs = SchemaNeeds(
        {
            ("z",): "string",
            ("s", "y"): "double",
            ("l", "element", "y"): StructOf((("q", "long"),)),
            ("m", "value", "y"): "boolean",
            ("b.c",): "long",
        }
    )
    with table.update_schema() as update:
        needs.apply(update)
    assert [field.name for field in table.schema().fields] == ["a", "s", "l", "m", "z", "b.c"]
    assert not needs.beyond(table.schema())
    assert str(table.schema().find_type("l.element.y")) == str(
        table.schema().find_type("l").element_type.fields[1].field_type
    )
    assert all(field.optional for field in table.schema().fields)


def test_what_somebody_else_added_meanwhile_is_left_out(new_table: TableFactory) -> None:
    table = new_table(SCHEMA)
    needs = SchemaNeeds({("z",): StructOf((("p", "long"), ("q", "long"))), ("y",): "long"})
    with table.update_schema() as update:
        update.add_column("z", StructType(NestedField(1, "p", LongType(), required=False)))
    with table.update_schema() as update:
        needs.apply(update)
    assert [field.name for field in table.schema().find_type("z").fields] == ["p", "q"]
    assert table.schema().fields[-1].name == "y"


def test_applying_twice_adds_nothing(new_table: TableFactory) -> None:
    table = new_table(SCHEMA)
    needs = SchemaNeeds({("z",): "string"})
    for _ in range(2):
        with table.update_schema() as update:
            needs.apply(update)
    assert [field.name for field in table.schema().fields].count("z") == 1


def test_a_new_table_gets_fresh_ids_level_by_level() -> None:
    needs = SchemaNeeds({("b",): StructOf((("x", "long"), ("y", ListOf("string")))), ("a",): "double"})
    assert [(f.field_id, f.name, str(f.field_type)) for f in needs.new_schema().fields] == [
        (1, "b", "struct<3: x: optional long, 4: y: optional list<string>>"),
        (2, "a", "double"),
    ]


def test_pyiceberg_still_has_the_private_names_leaned_on(new_table: TableFactory) -> None:
    table = new_table(SCHEMA)
    assert UpdateSchema(table.transaction())._schema == table.schema()
