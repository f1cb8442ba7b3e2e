"""Section 3.4 of the sink's behaviour: what a table grows by, when, and what floe does that the sink does not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import (
    DecimalType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
)

from floe.tables.exceptions import TableRefused
from floe_job.convert.base import Decoded
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.exceptions import SchemaConflict
from floe_job.schema.evolution import SchemaChanges
from floe_job.schema.limits import MAX_COLUMN_DEPTH, MAX_COLUMNS, MAX_NAME_LENGTH
from floe_job.schema.proposal import ColumnRules, ListOf, OnConflict
from tests.support.tables.parquet_tables import TableFactory

EVOLVE = ColumnRules(evolve=True)

NUMBERS = Schema(
    NestedField(1, "i", IntegerType(), required=False),
    NestedField(2, "f", FloatType(), required=False),
    NestedField(3, "d", DecimalType(4, 2), required=False),
    NestedField(4, "s", StructType(NestedField(5, "i", IntegerType(), required=False)), required=False),
    NestedField(6, "l", ListType(7, IntegerType(), element_required=False), required=False),
    NestedField(8, "m", MapType(9, IntegerType(), 10, DecimalType(3, 0), value_required=False), required=False),
    NestedField(
        11,
        "ls",
        ListType(12, StructType(NestedField(13, "f", FloatType(), required=False)), element_required=False),
        required=False,
    ),
)

REQUIRED = Schema(
    NestedField(1, "key", LongType(), required=True),
    NestedField(2, "r", LongType(), required=True),
    NestedField(3, "s", StructType(NestedField(4, "r", LongType(), required=True)), required=True),
    NestedField(5, "l", ListType(6, LongType(), element_required=True), required=False),
    NestedField(7, "m", MapType(8, StringType(), 9, LongType(), value_required=True), required=False),
    identifier_field_ids=[1],
)


def decode(schema: Schema | None, rules: ColumnRules, *records: Any) -> tuple[Decoded, SchemaChanges]:
    decoder = JsonDecoder(schema, rules, create=schema is None)
    return decoder.decode([r if isinstance(r, bytes) else json.dumps(r).encode() for r in records]), decoder.needs


def grow(table: Table, needs: SchemaChanges) -> Schema:
    with table.update_schema() as update:
        needs.apply(update)
    return table.schema()


def types(schema: Schema) -> dict[str, str]:
    names = (schema.find_column_name(i) for i in range(1, schema.highest_field_id + 1))
    return {name: str(schema.find_type(name)) for name in names if name is not None}


PROMOTIONS: list[tuple[Any, dict[tuple[str, ...], str]]] = [
    ({"i": 3_000_000_000}, {("i",): "long"}),
    ({"i": "-3000000000"}, {("i",): "long"}),
    ({"i": 3e9}, {("i",): "long"}),
    ({"f": 1e39}, {("f",): "double"}),
    ({"d": 123.4}, {("d",): "decimal(5, 2)"}),
    ({"d": "99.995"}, {("d",): "decimal(5, 2)"}),
    (b'{"d":12345678901234567890.125}', {("d",): "decimal(22, 2)"}),
    ({"s": {"i": 2**31}}, {("s", "i"): "long"}),
    ({"l": [1, None, -(2**31) - 1]}, {("l", "element"): "long"}),
    ({"m": {"1": 5, "2": 1000}}, {("m", "value"): "decimal(4, 0)"}),
    ({"ls": [{"f": 1}, {"f": -1e300}]}, {("ls", "element", "f"): "double"}),
]


@pytest.mark.parametrize(("record", "promotions"), PROMOTIONS)
def test_value_too_large_for_column_requests_the_wider_type(
    new_table: TableFactory, record: Any, promotions: dict[tuple[str, ...], str]
) -> None:
    table = new_table(NUMBERS)
    decoded, needs = decode(table.schema(), EVOLVE, record)
    assert (decoded.rejected, decoded.table, needs.promotions, needs.columns) == ((), None, promotions, {})
    again, more = decode(grow(table, needs), EVOLVE, record)
    assert again.table is not None
    assert (again.table.num_rows, again.rejected, bool(more)) == (1, (), False)


@pytest.mark.parametrize("record", [record for record, _ in PROMOTIONS])
def test_without_evolution_it_is_rejected_as_ever(record: Any) -> None:
    decoded, needs = decode(NUMBERS, ColumnRules(), record)
    assert [rejected.error for rejected in decoded.rejected] == ["Unconvertible"]
    assert not needs


@pytest.mark.parametrize(
    "record",
    [
        {"i": 2**63},
        {"i": 2.5},
        {"i": True},
        b'{"f":1e400}',
        {"d": "1e37"},
        {"m": {"3000000000": 1}},
        {"l": ["x"]},
        {"i": 3_000_000_000, "f": "x"},
    ],
)
def test_what_no_promotion_helps_is_rejected_and_leaves_no_need(record: Any) -> None:
    decoded, needs = decode(NUMBERS, EVOLVE, record)
    assert len(decoded.rejected) == 1
    assert not needs


def test_a_decimal_grows_to_the_most_digits_of_all_records() -> None:
    _, needs = decode(NUMBERS, EVOLVE, {"d": 12345}, {"d": 1234567}, {"d": 123})
    assert needs.promotions == {("d",): "decimal(9, 2)"}


def test_a_float_that_only_loses_digits_stays_a_float() -> None:
    _, needs = decode(NUMBERS, EVOLVE, {"f": 0.1}, {"f": 16777217})
    assert not needs


def test_known_promotion_restores_the_columnar_path() -> None:
    decoder = JsonDecoder(NUMBERS, EVOLVE, create=False)
    values = [b'{"i":%d,"s":{"i":%d}}' % (number, number) for number in range(3_000_000_000, 3_000_001_000)]
    decoder.decode(values)
    assert decoder.decode(values).fast_rows == len(values)


def test_a_promotion_that_is_known_changes_nothing_more() -> None:
    decoder = JsonDecoder(NUMBERS, EVOLVE, create=False)
    decoder.decode([b'{"i":"3000000000"}'])
    before = decoder.needs.promotions
    decoder.decode([b'{"i":"3000000001"}'] * 3)
    assert decoder.needs.promotions is before


@pytest.mark.parametrize(
    ("record", "path"),
    [
        ({"key": 1, "s": {"r": 1}}, ("r",)),
        ({"key": 1, "r": None, "s": {"r": 1}}, ("r",)),
        ({"key": 1, "r": 1}, ("s",)),
        ({"key": 1, "r": 1, "s": {}}, ("s", "r")),
        ({"key": 1, "r": 1, "s": {"r": 1}, "l": [1, None]}, ("l", "element")),
        ({"key": 1, "r": 1, "s": {"r": 1}, "m": {"a": None}}, ("m", "value")),
    ],
)
def test_a_null_in_a_required_column_asks_for_it_to_be_optional(
    new_table: TableFactory, record: Any, path: tuple[str, ...]
) -> None:
    table = new_table(REQUIRED)
    rejected, nothing = decode(table.schema(), ColumnRules(), record)
    assert "null in a required column" in rejected.rejected[0].reason
    assert not nothing
    _, needs = decode(table.schema(), EVOLVE, record)
    assert list(needs.optional) == [path]
    again, more = decode(grow(table, needs), EVOLVE, record)
    assert again.table is not None
    assert (again.table.num_rows, bool(more)) == (1, False)


def test_identifier_field_is_never_made_optional() -> None:
    around = StructType(NestedField(2, "key", LongType(), required=True))
    schema = Schema(NestedField(1, "s", around, required=True), identifier_field_ids=[2])
    decoded, needs = decode(schema, EVOLVE, {}, {"s": None}, {"s": {}}, {"s": {"key": None}})
    assert len(decoded.rejected) == 4
    assert not needs


def test_all_needs_of_a_batch_are_one_schema_update(new_table: TableFactory) -> None:
    table = new_table(REQUIRED)
    before = len(table.metadata.schemas)
    _, needs = decode(
        table.schema(),
        EVOLVE,
        {"key": 1, "r": 1, "s": {"r": 1, "z": [1]}},
        {"key": 1, "b": "x", "a": {"y": 1}, "s": {"r": 1}},
        {"key": 1, "r": 1, "s": {}, "a": {"x": 1.5}, "c": True},
    )
    schema = grow(table, needs)
    assert len(table.metadata.schemas) == before + 1
    assert [field.name for field in schema.fields] == ["key", "r", "s", "l", "m", "b", "a", "c"]
    assert str(schema.find_type("a")) == "struct<14: y: optional long, 15: x: optional double>"
    assert not needs.beyond(schema)


def test_list_of_objects_keeps_keys_beyond_first_element() -> None:
    schema = Schema(NestedField(1, "ls", NUMBERS.find_type("ls"), required=False))
    record = {"ls": [{"f": 1}, {"g": 1}, {"h": {"x": 1}}], "new": [{"a": 1}, {"b": 1}]}
    _, needs = decode(schema, EVOLVE, record)
    assert list(needs.columns) == [("ls", "element", "g"), ("ls", "element", "h"), ("new",)]
    assert needs.count() == 7


def test_a_rejected_record_leaves_nothing_behind() -> None:
    decoded, needs = decode(
        REQUIRED,
        EVOLVE,
        {"key": "x", "new": 1},
        {"key": 1, "l": [1, "a"], "new": 1},
        {"r": 1, "new": 1},
        {"key": 1, "": 1},
        {"key": 1, "new": [1, "a"]},
        {"key": 1, "r": 1, "new": [{"y": 1, "x": []}, {"x": 1}]},
    )
    assert len(decoded.rejected) == 6
    assert not needs


def test_empty_value_beside_a_typed_one_must_fit_too() -> None:
    decoded, needs = decode(NUMBERS, EVOLVE, {"ls": [{"new": []}, {"new": 1}]}, {"ls": [{"new": None}, {"new": [1]}]})
    assert [rejected.reason for rejected in decoded.rejected] == ["column 'new': cannot convert array to long"]
    assert needs.columns == {("ls", "element", "new"): ListOf("long")}


# -- conflicts --------------------------------------------------------------------------------------------------------


def test_first_of_two_types_wins_and_unfit_value_is_rejected() -> None:
    decoded, needs = decode(None, ColumnRules(), {"z": 1}, {"z": "12"}, {"z": "x"}, {"z": [1]})
    assert [rejected.index for rejected in decoded.rejected] == [2, 3]
    assert needs.columns == {("z",): "long"}


def test_conflict_may_become_text_and_keep_both_values(new_table: TableFactory) -> None:
    rules = ColumnRules(evolve=True, on_conflict="string")
    records = [{"z": {"a": 1, "b": 1}, "y": 1}, {"z": {"a": [1, {"q": 2.0}], "b": 2.5}, "y": None}, {"y": "x"}]
    table = new_table(NUMBERS)
    _, needs = decode(table.schema(), rules, *records)
    decoded, more = decode(grow(table, needs), rules, *records)
    assert not more
    assert decoded.table is not None
    rows = [{name: row[name] for name in ("z", "y")} for row in decoded.table.to_pylist()]
    assert rows == [
        {"z": {"a": "1", "b": 1.0}, "y": "1"},
        {"z": {"a": '[1,{"q":2.0}]', "b": 2.5}, "y": None},
        {"z": None, "y": "x"},
    ]


def test_a_conflict_can_fail_the_run() -> None:
    with pytest.raises(SchemaConflict, match=r"column 'z' comes as long and as string.*floe\.schema\.on-conflict"):
        decode(None, ColumnRules(on_conflict="fail"), {"z": 1}, {"z": "x"})


def test_long_and_double_are_no_conflict() -> None:
    _, needs = decode(None, ColumnRules(on_conflict="fail"), {"z": 1}, {"z": 1.5}, {"z": 2})
    assert needs.columns == {("z",): "double"}


@pytest.mark.parametrize(("policy", "expected"), [("dead-letter", "long"), ("string", "string")])
def test_a_conflict_over_batches_and_tasks_is_settled_alike(policy: OnConflict, expected: str) -> None:
    rules = ColumnRules(evolve=True, on_conflict=policy)
    decoder = JsonDecoder(NUMBERS, rules, create=False)
    decoder.decode([b'{"z":1}'])
    decoder.decode([b'{"z":"x"}'])
    assert decoder.needs.columns == {("z",): expected}
    merged = SchemaChanges()
    for record in ({"z": 1}, {"z": "x"}):
        merged.merge(decode(NUMBERS, rules, record)[1])
    assert merged.columns == {("z",): expected}


def test_a_conflict_between_tasks_can_fail_the_run() -> None:
    merged = SchemaChanges()
    merged.merge(decode(NUMBERS, ColumnRules(evolve=True, on_conflict="fail"), {"z": 1})[1])
    with pytest.raises(SchemaConflict):
        merged.merge(decode(NUMBERS, ColumnRules(evolve=True, on_conflict="fail"), {"z": "x"})[1])


# -- caps -------------------------------------------------------------------------------------------------------------


def nested(depth: int) -> dict[str, Any]:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return {"z": value}


@pytest.mark.parametrize(
    ("record", "error", "cap"),
    [
        ({f"c{number}": 1 for number in range(MAX_COLUMNS)}, "TooManyColumns", str(MAX_COLUMNS)),
        (nested(MAX_COLUMN_DEPTH), "NestedTooDeep", str(MAX_COLUMN_DEPTH)),
        ({"n" * (MAX_NAME_LENGTH + 1): 1}, "NameTooLong", str(MAX_NAME_LENGTH)),
        ({"s": {"n" * (MAX_NAME_LENGTH + 1): 1}}, "NameTooLong", str(MAX_NAME_LENGTH)),
        ({"": 1}, "Unnameable", "empty name"),
        ({"a\nb": 1}, "Unnameable", "control character"),
        ({"z": [{"a\x7f": 1}]}, "Unnameable", "control character"),
        (b'{"\\ud800":1}', "Unnameable", "control character"),
    ],
)
def test_column_above_limit_rejects_record_with_advice(record: Any, error: str, cap: str) -> None:
    decoded, needs = decode(NUMBERS, EVOLVE, record)
    assert [(rejected.stage, rejected.error) for rejected in decoded.rejected] == [("schema", error)]
    assert cap in decoded.rejected[0].reason
    assert "iceberg.tables.evolve-schema-enabled" in decoded.rejected[0].reason
    assert not needs


def test_just_below_the_caps_all_is_taken(new_table: TableFactory) -> None:
    room = MAX_COLUMNS - len(types(NUMBERS)) - MAX_COLUMN_DEPTH
    record = nested(MAX_COLUMN_DEPTH - 1) | {f"c{number}": 1 for number in range(room)}
    decoded, needs = decode(NUMBERS, EVOLVE, record)
    assert not decoded.rejected
    assert len(types(grow(new_table(NUMBERS), needs))) == MAX_COLUMNS - 1 + 1


def test_tasks_above_limit_together_are_judged_on_second_read(new_table: TableFactory) -> None:
    merged = SchemaChanges()
    for task in "ab":
        merged.merge(decode(NUMBERS, EVOLVE, {f"{task}{number}": 1 for number in range(600)})[1])
    table = new_table(NUMBERS)
    schema = grow(table, merged)
    assert len(types(schema)) == MAX_COLUMNS
    decoded, needs = decode(schema, EVOLVE, {"b599": 1})
    assert decoded.rejected[0].error == "TooManyColumns"
    assert not needs


def test_dotted_names_colliding_across_tasks_keep_table_valid(new_table: TableFactory) -> None:
    merged = SchemaChanges()
    merged.merge(decode(NUMBERS, EVOLVE, {"a.b": 1})[1])
    merged.merge(decode(NUMBERS, EVOLVE, {"a": {"b": 1}})[1])
    schema = grow(new_table(NUMBERS), merged)
    assert schema.fields[-1].name == "a.b"
    decoded, _ = decode(schema, EVOLVE, {"a": {"b": 1}})
    assert decoded.rejected[0].stage == "schema"


# -- what no schema change helps --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "value"),
    [(StringType(), {"a": 1}), (LongType(), 5), (DecimalType(9, 2), 1.005), (IntegerType(), 2.0)],
)
def test_a_column_is_changed_only_where_a_value_needs_it(column: IcebergType, value: Any) -> None:
    _, needs = decode(Schema(NestedField(1, "v", column, required=False)), EVOLVE, {"v": value})
    assert not needs


def names(schema: Schema) -> Iterator[str]:
    return (field.name for field in schema.fields)


def test_a_name_with_a_dot_becomes_a_column_of_that_name(new_table: TableFactory) -> None:
    _, needs = decode(NUMBERS, EVOLVE, {"p.q": 1})
    assert "p.q" in names(grow(new_table(NUMBERS), needs))


# -- names that differ by case only ---------------------------------------------------------------------------------------

TWINS = ColumnRules(evolve=True, case_twins=True)
FOLDED = ColumnRules(evolve=True, case_insensitive=True)


@pytest.mark.parametrize(
    ("record", "names"),
    [
        ({"ID": 1, "id": 2}, ("'id'", "'ID'")),
        ({"s": {"Name": 1, "NAME": 2}}, ("'s.NAME'", "'s.Name'")),
        ({"l": [{"x": 1}, {"X": 2}]}, ("'l.element.X'", "'l.element.x'")),
        ({"s": {"t": {"É": 1, "é": 2}}}, ("'s.t.é'", "'s.t.É'")),
        ({"a.B": 1, "a.b": 2}, ("'a.b'", "'a.B'")),
        ({"S": {"a": 1}, "s": {"b": 1}}, ("'s'", "'S'")),
        # the two signs of micro, small sigmas, a Turkish i, the sign of Kelvin: one letter to Spark
        ({"n_\u00b5s": 1, "n_\u03bcs": 2}, ("'n_\u03bcs'", "'n_\u00b5s'")),
        ({"s": {"\u03c3": 1, "\u03c2": 2}}, ("'s.\u03c3'", "'s.\u03c2'")),
        ({"\u0131d": 1, "Id": 2}, ("'\u0131d'", "'Id'")),
        ({"\u0130d": 1, "id": 2}, ("'\u0130d'", "'id'")),
        ({"\u212a": 1, "k": 2}, ("'\u212a'", "'k'")),
    ],
)
def test_columns_that_differ_by_case_only_reject_their_record(record: Any, names: tuple[str, str]) -> None:
    decoded, needs = decode(Schema(), EVOLVE, record)
    (rejected,) = decoded.rejected
    assert (rejected.stage, rejected.error) == ("schema", "Unnameable")
    assert all(name in rejected.reason for name in names)
    assert rejected.reason.endswith("sensitive for two, iceberg.tables.evolve-schema-enabled to false for none")
    assert not needs


@pytest.mark.parametrize("record", [{"stra\u00dfe": 1, "strasse": 2}, {"\u00e9": 1, "e": 2}, {"\u01c6": 1, "dz": 2}])
def test_letters_of_another_capital_are_other_names(record: Any) -> None:
    decoded, needs = decode(Schema(), EVOLVE, record)
    assert not decoded.rejected and needs.count() == 2


@pytest.mark.parametrize("rules", [TWINS, FOLDED], ids=["sensitive", "one column"])
def test_columns_that_differ_by_case_only_are_added_or_one_by_other_rules(rules: ColumnRules) -> None:
    decoded, needs = decode(Schema(), rules, {"ID": 1, "id": 2, "s": {"a": 1, "A": 2}})
    assert not decoded.rejected
    assert needs.count() == (5 if rules is TWINS else 3)


@pytest.mark.parametrize(("record", "name"), [({"I": 1, "Z": 2}, "'I'"), ({"NEW": 1, "new": 1}, "'new'")])
def test_second_spelling_is_rejected_beside_a_column_of_the_table(record: Any, name: str) -> None:
    """The table has the column of an earlier run, or of its owner; the first record's columns stay."""
    decoded, needs = decode(NUMBERS, EVOLVE, {"new_one": 1}, record)
    (rejected,) = decoded.rejected
    assert rejected.index == 1 and rejected.reason.startswith(f"column {name}: differs by case only from ")
    assert list(needs.columns) == [("new_one",)]


def test_second_spelling_of_a_later_record_is_rejected() -> None:
    decoded, needs = decode(NUMBERS, EVOLVE, {"Price": 1}, {"price": 2}, {"Price": 3})
    assert [one.index for one in decoded.rejected] == [1]
    assert list(needs.columns) == [("Price",)]


def test_spellings_of_two_tasks_become_one_column(new_table: TableFactory) -> None:
    merged = SchemaChanges()
    for record in ({"s": {"Price": 1}, "Kind": 1}, {"s": {"price": 2}, "kind": 2}):
        merged.merge(decode(NUMBERS, EVOLVE, record)[1])
    schema = grow(new_table(NUMBERS), merged)
    assert "Kind" in types(schema) and "kind" not in types(schema)
    decoded, needs = decode(schema, EVOLVE, {"s": {"Price": 1}}, {"s": {"price": 2}}, {"kind": 2})
    assert [one.index for one in decoded.rejected] == [1, 2]
    assert not needs


def test_created_table_gets_one_column_of_the_spellings_of_two_tasks() -> None:
    merged = SchemaChanges()
    merged.merge(decode(None, EVOLVE, {"ID": 1, "x": 1})[1])
    merged.merge(decode(None, EVOLVE, {"id": 1})[1])
    assert [field.name for field in merged.new_schema().fields] == ["ID", "x"]


def test_table_that_has_both_already_takes_both() -> None:
    both = Schema(NestedField(1, "ID", LongType()), NestedField(2, "id", LongType()))
    decoded, needs = decode(both, EVOLVE, {"ID": 1, "id": 2})
    assert not decoded.rejected and not needs
    assert decoded.table is not None and decoded.table.to_pylist() == [{"ID": 1, "id": 2}]


def test_a_field_in_another_case_is_left_out_without_evolution() -> None:
    decoded, needs = decode(NUMBERS, ColumnRules(), {"I": 1})
    assert not decoded.rejected and not needs


def test_column_of_a_transform_that_the_table_cannot_get_is_refused(new_table: TableFactory) -> None:
    """Left out, it would be missing in the next round, and in each after that."""
    rules = ColumnRules(evolve=True, injected=frozenset({"_META"}))
    needs = SchemaChanges({("_META",): "long", ("x",): "long"}, rules=rules)
    table = new_table(Schema(NestedField(1, "_meta", LongType(), required=False)))
    with pytest.raises(
        TableRefused, match=r"'_META', which a transform adds.*differs from the column '_meta' by case only"
    ):
        grow(table, needs)
    assert table.refresh().schema().column_names == ["_meta"]
