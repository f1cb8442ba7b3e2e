"""Tables that the connector names, and what it says of each."""

import pytest

from floe.config import PartitionTerm
from floe.config.sections.field_terms import SortTerm
from floe.config.sections.tables import TableSettings, table_of

TABLE, BY_DEFAULT = "iceberg.table.rpc.pizzas.", "iceberg.tables.default-"
DYNAMIC = {"iceberg.tables": "", "floe.route.by": "key", "floe.route.namespace": "raw"}


def test_a_connector_may_write_several_tables(connector):
    made = connector({"iceberg.tables": "a.b, c.d"})
    assert (made.tables, made.destination) == (("a.b", "c.d"), "a.b, c.d")


def test_a_table_that_is_named_twice_is_refused(problems):
    assert problems({"iceberg.tables": "a.b, c.d, a.b"}) == ("iceberg.tables names 'a.b' twice: keep one",)


def test_every_setting_of_a_table_is_read(connector):
    made = connector(
        {
            "iceberg.tables.route-field": "kind",
            f"{TABLE}route-regex": "piz.*",
            f"{TABLE}commit-branch": "audit",
            f"{TABLE}partition-by": "store, bucket(id, 16)",
            f"{TABLE}id-columns": " id, a.b ",
            "floe.table.rpc.pizzas.topics": "completed-pizzas",
            "floe.table.rpc.pizzas.sort-by": "ts desc",
        }
    )
    assert made.table("rpc.pizzas") == TableSettings(
        branch="audit",
        partition_by=(PartitionTerm("identity", "store"), PartitionTerm("bucket", "id", 16)),
        id_columns=("id", "a.b"),
        sort_by=(SortTerm("ts", descending=True),),
        route_regex="piz.*",
        topics=frozenset({"completed-pizzas"}),
    )


def test_defaults_hold_for_tables_that_say_nothing_else(connector):
    made = connector(
        {
            "iceberg.tables": "rpc.pizzas, rpc.other",
            f"{BY_DEFAULT}commit-branch": "audit",
            f"{BY_DEFAULT}partition-by": "store",
            f"{BY_DEFAULT}id-columns": "id",
            f"{TABLE}commit-branch": "main",
            f"{TABLE}partition-by": "",
            f"{TABLE}id-columns": "",
        }
    )
    others = TableSettings(branch="audit", partition_by=(PartitionTerm("identity", "store"),), id_columns=("id",))
    assert made.table("rpc.other") == made.table("one.that.records.name") == others
    assert made.table("rpc.pizzas") == TableSettings()


def test_a_commit_branch_is_taken_and_main_is_none(connector, problems):
    key = f"{BY_DEFAULT}commit-branch"
    assert connector({key: "audit"}).table("rpc.pizzas").branch == "audit"
    assert connector({key: "main"}).table("rpc.pizzas").branch is None
    assert problems({key: ""}) == (f"{key}: must not be empty: give a name or remove the key",)


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        (f"{BY_DEFAULT}partition-by", "week(ts)", "unknown transform 'week'"),
        (f"{TABLE}partition-by", "a,,b", "names no column"),
        (f"{BY_DEFAULT}id-columns", "a,,b", "'' names no column"),
        (f"{TABLE}id-columns", "a.", "'a.' names no column"),
        (f"{TABLE}id-columns", "a,b,a", "'a' is named twice"),
        (f"{TABLE}commit-branch", "a\nb", "control characters"),
        (f"{TABLE}commit-branch", "", "must not be empty"),
        ("floe.table.rpc.pizzas.sort-by", "a nulls", "does not end as a sort term may"),
        ("floe.table.rpc.pizzas.topics", " ", "names no topic"),
        ("floe.table.rpc.pizzas.topics", "a b", "is no legal topic name"),
        ("floe.table.rpc.pizzas.topics", "pizzas", "'pizzas' is not among the connector's topics (completed-pizzas)"),
    ],
)
def test_what_a_table_cannot_have_is_refused_under_its_key(problems, key, value, problem):
    (found,) = problems({key: value})
    assert found.startswith(f"{key}: ") and problem in found


@pytest.mark.parametrize("regex", ["(", r"\p{Lu}.*", "[a&&b]", "a{99999999999999999999}", "(?u)a", "(" * 3000])
def test_a_route_regex_that_is_none_is_refused(problems, regex):
    found = problems({"iceberg.tables.route-field": "a", f"{TABLE}route-regex": regex})
    assert any(problem.startswith(f"{TABLE}route-regex: ") and "is no regular" in problem for problem in found)


def test_settings_of_a_table_that_is_not_named_are_refused(problems):
    assert problems({"iceberg.table.rpc.pizas.partition-by": "store"}) == (
        "iceberg.table.rpc.pizas.partition-by: is about a table that iceberg.tables does not name: it names rpc.pizzas",
    )


@pytest.mark.parametrize("table", ["raw.Orders", "other.orders", "raw.a.b", "raw.1-2", "raw."])
def test_settings_of_a_table_that_no_record_can_name_are_refused(problems, table):
    found = problems({**DYNAMIC, f"iceberg.table.{table}.commit-branch": "audit"})
    assert any(f"settings are given for table {table!r}" in problem for problem in found)


def test_settings_of_tables_that_records_name_are_taken(connector):
    made = connector({**DYNAMIC, "iceberg.table.raw.orders.commit-branch": "audit"})
    assert (made.tables, made.table("raw.orders").branch, made.table("raw.x").branch) == ((), "audit", None)


@pytest.mark.parametrize("key", ["iceberg.table.raw.orders.route-regex", "floe.table.raw.orders.topics"])
def test_conditions_of_tables_that_records_name_are_refused(problems, key):
    (problem,) = problems({**DYNAMIC, key: "completed-pizzas"})
    assert problem == f"{key} goes with iceberg.tables, but here the records name their tables"


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("iceberg.table.a.b.commit-branch", ("a.b", "commit-branch")),
        ("floe.table.a.topics.sort-by", ("a.topics", "sort-by")),
        ("iceberg.table.write-props.a.commit-branch", None),
        ("iceberg.table.commit-branch", None),
        ("iceberg.table..commit-branch", None),
        ("iceberg.tables.default-commit-branch", None),
        ("iceberg.table.a.b.topics", None),
    ],
)
def test_a_key_tells_which_table_it_is_about(key, found):
    assert table_of(key) == found
