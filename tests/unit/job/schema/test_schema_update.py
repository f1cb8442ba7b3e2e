"""What a table lacks: merged over tasks, and one update of its schema anywhere in its tree."""

from __future__ import annotations

import pickle

import pytest
from pyiceberg.schema import Schema, index_by_id, index_by_name
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.types import (
    DecimalType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
)

from floe.parquet.layout import FileLayout
from floe_job.schema.evolution import SchemaChanges
from floe_job.schema.limits import MAX_COLUMNS
from floe_job.schema.proposal import ColumnRules, ListOf, Proposal, StructOf
from tests.support.tables.parquet_tables import TableFactory

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
    needs = SchemaChanges({("a",): "long", ("l", "element", "y"): ListOf(StructOf((("q", "string"),)))})
    assert pickle.loads(pickle.dumps(needs)) == needs  # noqa: S301
    assert needs
    assert not SchemaChanges()


def test_merging_keeps_the_order_seen_and_the_first_type() -> None:
    needs = SchemaChanges({("b",): "long", ("a",): "string"})
    needs.merge(SchemaChanges({("c",): "boolean", ("a",): "long", ("b",): "double"}))
    assert list(needs.columns.items()) == [(("b",), "double"), (("a",), "string"), (("c",), "boolean")]


def test_columns_are_added_anywhere_in_the_tree(new_table: TableFactory) -> None:
    table = new_table(SCHEMA)
    needs = SchemaChanges(
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
    needs = SchemaChanges({("z",): StructOf((("p", "long"), ("q", "long"))), ("y",): "long"})
    with table.update_schema() as update:
        update.add_column("z", StructType(NestedField(1, "p", LongType(), required=False)))
    with table.update_schema() as update:
        needs.apply(update)
    assert [field.name for field in table.schema().find_type("z").fields] == ["p", "q"]
    assert table.schema().fields[-1].name == "y"


def test_applying_twice_adds_nothing(new_table: TableFactory) -> None:
    table = new_table(SCHEMA)
    needs = SchemaChanges({("z",): "string"})
    for _ in range(2):
        with table.update_schema() as update:
            needs.apply(update)
    assert [field.name for field in table.schema().fields].count("z") == 1


def test_a_new_table_gets_fresh_ids_level_by_level() -> None:
    needs = SchemaChanges({("b",): StructOf((("x", "long"), ("y", ListOf("string")))), ("a",): "double"})
    assert [(f.field_id, f.name, str(f.field_type)) for f in needs.new_schema().fields] == [
        (1, "b", "struct<3: x: optional long, 4: y: optional list<string>>"),
        (2, "a", "double"),
    ]


def test_pyiceberg_still_has_the_private_names_leaned_on(new_table: TableFactory) -> None:
    table = new_table(SCHEMA)
    assert UpdateSchema(table.transaction())._schema == table.schema()


NARROW = Schema(
    NestedField(1, "i", IntegerType(), required=True),
    NestedField(2, "d", DecimalType(4, 2), required=False),
    NestedField(3, "l", ListType(4, IntegerType(), element_required=True), required=False),
    NestedField(5, "m", MapType(6, StringType(), 7, FloatType(), value_required=True), required=False),
    NestedField(8, "s", StructType(NestedField(9, "i", IntegerType(), required=True)), required=True),
)


def wide() -> SchemaChanges:
    return SchemaChanges(
        columns={("s", "new"): "long"},
        promotions={
            ("i",): "long",
            ("d",): "decimal(9, 2)",
            ("l", "element"): "long",
            ("m", "value"): "double",
            ("s", "i"): "long",
        },
        optional={("i",): None, ("l", "element"): None, ("m", "value"): None, ("s",): None, ("s", "i"): None},
        rules=ColumnRules(evolve=True, on_conflict="string", injected=frozenset({"x"})),
    )


def test_promotions_and_optional_columns_travel_too() -> None:
    assert pickle.loads(pickle.dumps(wide())) == wide()  # noqa: S301
    assert str(wide()) == "1 columns to add, 5 to promote, 5 to make optional"
    assert SchemaChanges(promotions={("i",): "long"})
    assert SchemaChanges(optional={("i",): None})


def test_everything_is_one_update_of_the_schema(new_table: TableFactory) -> None:
    table = new_table(NARROW)
    widened = wide().widened(table.schema())
    with table.update_schema() as update:
        wide().apply(update)
    assert len(table.metadata.schemas) == 2
    schema = table.schema()
    assert [widened.find_field(name) for name in ("i", "d", "l", "m")] == list(schema.fields[:4])
    assert {name: str(schema.find_type(name)) for name in ("i", "d", "l.element", "m.value", "s.i", "s.new")} == {
        "i": "long",
        "d": "decimal(9, 2)",
        "l.element": "long",
        "m.value": "double",
        "s.i": "long",
        "s.new": "long",
    }
    assert all(schema.find_field(name).optional for name in ("i", "l.element", "m.value", "s", "s.i", "s.new"))
    assert not wide().beyond(schema)


def test_of_two_tasks_the_wider_promotion_counts() -> None:
    needs = SchemaChanges()
    for precision in (9, 20, 12):
        needs.merge(SchemaChanges(promotions={("d",): f"decimal({precision}, 2)"}))
    needs.merge(SchemaChanges(optional={("i",): None}))
    assert needs.promotions == {("d",): "decimal(20, 2)"}
    assert list(needs.optional) == [("i",)]


def test_the_first_needs_merged_in_bring_their_rules() -> None:
    needs = SchemaChanges()
    needs.merge(SchemaChanges({("z",): "long"}, rules=ColumnRules(on_conflict="string")))
    needs.merge(SchemaChanges({("z",): "boolean"}, rules=ColumnRules(on_conflict="string")))
    assert needs.columns == {("z",): "string"}


def test_schema_changed_meanwhile_gets_only_possible_requests() -> None:
    changed = Schema(
        NestedField(1, "i", LongType(), required=True),  # promoted by another writer, still required
        NestedField(2, "d", DecimalType(38, 2), required=False),  # wider than asked for
        NestedField(3, "l", StringType(), required=False),  # another type altogether
        NestedField(9, "s", StructType(NestedField(10, "i", IntegerType(), required=True)), required=True),
        identifier_field_ids=[10],
    )
    needs = wide().beyond(changed)
    assert (needs.columns, needs.promotions, list(needs.optional)) == (
        {("s", "new"): "long"},
        {("s", "i"): "long"},
        [("i",)],
    )


@pytest.mark.parametrize(
    ("columns", "kept"),
    [
        ({("1",): "long", ("_1",): "long"}, ["1"]),
        ({("_1",): "long", ("1",): "long"}, ["_1"]),
        ({("a.b",): "long", ("a_x2Eb",): "long"}, ["a.b"]),
        ({("o",): StructOf((("1", "long"), ("_1", "long"), ("b", "long")))}, ["o", "o.1", "o.b"]),
        ({("o",): StructOf((("x", "long"),)), ("o.x",): "long"}, ["o", "o.x"]),
        ({("o.x",): "long", ("o",): StructOf((("x", "long"),)), ("b",): "long"}, ["o.x", "b"]),
        ({("1",): "long", ("o",): StructOf((("_1", "long"),))}, ["1", "o", "o._1"]),
    ],
)
def test_first_of_names_equal_in_files_gets_its_column(
    new_table: TableFactory, columns: dict[tuple[str, ...], Proposal], kept: list[str]
) -> None:
    needs = SchemaChanges(columns)
    assert sorted(index_by_name(needs.new_schema())) == sorted(kept)
    FileLayout.of(needs.new_schema(), {})
    table = new_table(NARROW)
    with table.update_schema() as update:
        needs.apply(update)
    assert index_by_name(table.schema()).keys() - index_by_name(NARROW).keys() == set(kept)
    FileLayout.of(table.schema(), {})


def test_fields_above_limit_inside_a_struct_are_left_out() -> None:
    needs = SchemaChanges()
    for task in "ab":
        fields = tuple((f"{task}{number}", "long") for number in range(600))
        needs.merge(SchemaChanges({("s",): StructOf(fields), ("l",): ListOf(StructOf(fields[:1]))}))
    schema = needs.new_schema()
    assert len(index_by_id(schema)) == MAX_COLUMNS
    assert len(schema.find_type("s").fields) == MAX_COLUMNS - 1


def test_a_decimal_of_another_scale_is_no_promotion() -> None:
    schema = Schema(NestedField(1, "d", DecimalType(4, 3), required=False))
    assert not SchemaChanges(promotions={("d",): "decimal(9, 2)"}).beyond(schema)


def test_table_with_name_mapping_gets_new_columns_into_it(new_table: TableFactory) -> None:
    mapping = '[{"field-id": 1, "names": ["ident"]}]'
    table = new_table(Schema(NARROW.fields[0]), properties={"schema.name-mapping.default": mapping})
    with table.update_schema() as update:
        SchemaChanges({("z",): "long"}, optional={("i",): None}).apply(update)
    names = table.name_mapping()
    assert names is not None
    # as Iceberg's Java library does, an update of a column adds its own name
    assert [sorted(field.names) for field in names.root] == [["i", "ident"], ["z"]]
