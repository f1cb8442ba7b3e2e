"""What a new table is made of: identifier fields, sort order, and what becomes of a partitioning that does not fit."""

import logging
from collections.abc import Callable

import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.types import (
    DecimalType,
    DoubleType,
    FloatType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
)

from floe.catalogs.client import CatalogClient
from floe.catalogs.exceptions import TableUnsuitable
from floe.catalogs.table_creation import NewTable, sort_order, with_identifiers
from floe.config.sections.field_terms import SortTerm, parse_partition_by, parse_sort_by
from floe.config.sections.tables import TableSettings
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.schema.proposal import PLAIN

CUSTOMER = StructType(
    NestedField(21, "id", LongType(), required=False),
    NestedField(22, "address", StructType(NestedField(23, "zip", StringType(), required=False)), required=False),
)
TOPPING = StructType(NestedField(31, "id", LongType(), required=False))
SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False, doc="the order"),
    NestedField(2, "customer", CUSTOMER, required=False),
    NestedField(3, "toppings", ListType(30, TOPPING, element_required=False), required=False),
    NestedField(4, "notes", MapType(40, StringType(), 41, TOPPING, value_required=False), required=False),
    NestedField(5, "price", DoubleType(), required=False),
    NestedField(6, "weight", FloatType(), required=False),
    NestedField(7, "at", TimestampType(), required=False),
    NestedField(8, "tax", DecimalType(9, 2), required=False),
    NestedField(9, "a.b", StringType(), required=False),
)

# -- identifier fields ------------------------------------------------------------------------------------------------


def test_identifier_fields_are_required_and_others_optional() -> None:
    schema = with_identifiers(SCHEMA, ("id", "tax", "id"), "t")
    assert schema.identifier_field_ids == [1, 8]
    assert {field.name for field in schema.fields if field.required} == {"id", "tax"}
    assert schema.find_field("id").doc == "the order"
    assert schema.column_names == SCHEMA.column_names


def test_the_structs_around_an_identifier_field_are_required_too() -> None:
    schema = with_identifiers(SCHEMA, ("customer.address.zip",), "t")
    path = ("customer", "customer.address", "customer.address.zip")
    assert [schema.find_field(name).required for name in path] == [True, True, True]
    assert schema.identifier_field_names() == {"customer.address.zip"}
    assert not any(schema.find_field(name).required for name in ("id", "customer.id"))


def test_a_name_with_a_dot_in_it_is_a_name_too() -> None:
    assert with_identifiers(SCHEMA, ("a.b",), "t").identifier_field_names() == {"a.b"}


def test_no_id_columns_leave_the_schema_as_it_is() -> None:
    assert with_identifiers(SCHEMA, (), "t") is SCHEMA


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ("missing", r"no such field \(they have \['a\.b', 'at'.*"),
        ("customer.missing", "no such field"),
        ("ID", "no such field"),
        ("price", "of type double, and Iceberg takes no float, double"),
        ("weight", "of type float, and Iceberg takes no float, double"),
        ("customer", "of type struct<.*, and Iceberg takes no .*struct"),
        ("toppings", "of type list<.*, and Iceberg takes no .*list"),
        ("toppings.element.id", "is inside a list or a map"),
        ("notes.value.id", "is inside a list or a map"),
        ("notes.key", "is inside a list or a map"),
    ],
)
def test_a_column_that_cannot_identify_a_row_is_refused_by_name(column: str, problem: str) -> None:
    with pytest.raises(TableUnsuitable, match=rf"'rpc\.p' cannot have the id column '{column}': .*{problem}") as error:
        with_identifiers(SCHEMA, ("id", column), "rpc.p")
    assert "correct iceberg.table.rpc.p.id-columns or iceberg.tables.default-id-columns" in str(error.value)


@pytest.mark.parametrize(
    "value", [b'{"a.b": "x"}', b'{"id": null, "a.b": "x"}', b'{"id": 1, "customer": {"id": 1}}', b'{"id": 1}']
)
def test_record_without_identifier_value_is_rejected_alone(value: bytes) -> None:
    schema = with_identifiers(SCHEMA, ("id", "customer.address.zip"), "t")
    good = b'{"id": 7, "customer": {"address": {"zip": "8000"}}}'
    decoded = JsonDecoder(schema, PLAIN, create=False).decode([good, value, good])
    assert [rejected.index for rejected in decoded.rejected] == [1]
    assert decoded.table is not None
    assert decoded.table["id"].to_pylist() == [7, 7]


# -- sort order -------------------------------------------------------------------------------------------------------


def test_a_sort_order_has_the_terms_in_their_order() -> None:
    order = sort_order(SCHEMA, parse_sort_by("day(at) desc, customer.address.zip, bucket(id, 4) nulls last"), "t")
    assert [str(field) for field in order.fields] == [
        "day(7) DESC NULLS LAST",
        "23 ASC NULLS FIRST",
        "bucket[4](1) ASC NULLS LAST",
    ]
    assert order.order_id == 1


def test_no_terms_are_no_order() -> None:
    assert sort_order(SCHEMA, (), "t") == UNSORTED_SORT_ORDER


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("missing desc", r"by 'missing': the records have no such field"),
        ("day(id)", r"by 'day\(id\)': the column is of type long"),
        ("customer", r"by 'customer': the column is of type struct"),
        ("notes.value.id", r"by 'notes.value.id': the column is inside a list or a map"),
    ],
)
def test_a_term_that_does_not_fit_is_refused_by_name(text: str, problem: str) -> None:
    with pytest.raises(
        TableUnsuitable, match=rf"'rpc\.p' cannot be sorted {problem}.*correct floe\.table\.rpc\.p\.sort-by"
    ):
        sort_order(SCHEMA, parse_sort_by(text), "rpc.p")


def test_unknown_sort_transform_is_refused_with_the_known_ones() -> None:
    with pytest.raises(TableUnsuitable, match=r"'zorder' is not known; use identity"):
        sort_order(SCHEMA, (SortTerm("id", "zorder"),), "t")


# -- all together -----------------------------------------------------------------------------------------------------


def settings(partition_by: str = "", sort_by: str = "", id_columns: tuple[str, ...] = ()) -> TableSettings:
    return TableSettings(
        partition_by=parse_partition_by(partition_by), sort_by=parse_sort_by(sort_by), id_columns=id_columns
    )


def test_unsuitable_partitioning_fails_or_is_left_out_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    unsuitable = settings("bucket(id, 4), day(price)", "id")
    with pytest.raises(TableUnsuitable, match=r"by 'day\(price\)'"):
        NewTable.of("rpc.p", SCHEMA, unsuitable, "fail")
    assert not caplog.records
    new = NewTable.of("rpc.p", SCHEMA, unsuitable, "unpartitioned")
    assert (new.spec, len(new.sort_order.fields)) == (UNPARTITIONED_PARTITION_SPEC, 1)
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert "rpc.p is created unpartitioned" in record.getMessage()
    assert "by 'day(price)': the column is of type double" in record.getMessage()


@pytest.mark.parametrize("wrong", [settings(sort_by="missing"), settings(id_columns=("missing",))])
def test_an_unsuitable_order_or_id_column_always_fails(wrong: TableSettings) -> None:
    with pytest.raises(TableUnsuitable, match="'missing'"):
        NewTable.of("t", SCHEMA, wrong, "unpartitioned")


def test_a_table_is_created_with_all_of_it(tables: Callable[..., CatalogClient]) -> None:
    everything = settings("day(at), customer.address.zip", "id desc", ("id", "customer.address.zip"))
    tables().create("a.b.pizzas", SCHEMA, everything, "fail")
    created = tables().require("a.b.pizzas")
    assert created.schema().identifier_field_names() == {"id", "customer.address.zip"}
    ids = {name: created.schema().find_field(name).field_id for name in ("id", "at", "customer.address.zip")}
    assert [field.source_id for field in created.spec().fields] == [ids["at"], ids["customer.address.zip"]]
    (field,) = created.sort_order().fields
    assert (field.source_id, str(field.direction), str(field.null_order)) == (ids["id"], "DESC", "NULLS LAST")
    assert created.properties["commit.manifest-merge.enabled"] == "true"


def test_a_table_is_created_unpartitioned_when_that_is_wanted(tables: Callable[..., CatalogClient]) -> None:
    created = tables().create("rpc.pizzas", SCHEMA, settings("day(price)"), "unpartitioned")
    assert created.spec().is_unpartitioned()


def test_unsuitable_settings_create_nothing(tables: Callable[..., CatalogClient]) -> None:
    opened = tables()
    with pytest.raises(TableUnsuitable):
        opened.create("rpc.pizzas", SCHEMA, settings(id_columns=("price",)), "unpartitioned")
    assert not opened.catalog.namespace_exists("rpc")
