"""Route hashes: what they are made of, and what leaves them as they are."""

import pytest

from floe.config import parse_connector
from floe.model.route_hash import route_hash
from floe.tables.table_state import Routes
from tests.support.connectors import JSON

TOPIC, TABLE, OTHER = "orders", "rpc.orders", "rpc.other"
STATIC = {"iceberg.tables": f"{TABLE},{OTHER}"}
BY_FIELD = {
    **STATIC,
    "iceberg.tables.route-field": "kind",
    f"iceberg.table.{TABLE}.route-regex": "a.*",
    f"iceberg.table.{OTHER}.route-regex": "b.*",
}
JSON_KEYS = {"key.converter": "JsonConverter", "key.converter.schemas.enable": "false"}
DYNAMIC = {"floe.route.by": "key", "floe.route.namespace": "rpc"}


def routes(over: dict[str, str]) -> Routes:
    keys = {"name": "shop", "topics": f"{TOPIC},drinks", "iceberg.catalog.type": "sql", **JSON}
    return Routes(parse_connector({**keys, **over}))


def both(over: dict[str, str]) -> tuple[str, str]:
    """Return the hash of the topic's way into the table, and that of its whole routing."""
    found = routes(over)
    return found.route(TOPIC, TABLE), found.routing(TOPIC)


CHANGES_NOTHING = [
    {"transforms": "meta", "transforms.meta.type": "KafkaMetadataTransform"},
    {f"iceberg.table.{TABLE}.partition-by": "day(ts)", f"iceberg.table.{TABLE}.id-columns": "id"},
    {f"floe.table.{OTHER}.sort-by": "id"},
    {f"iceberg.table.{OTHER}.partition-by": "id", f"iceberg.table.{OTHER}.id-columns": "id"},
    {"iceberg.tables.default-partition-by": "id"},
    {"floe.route.on-unroutable": "drop"},
    {"errors.tolerance": "all"},
    {"floe.deadletter.table": "ops.letters"},
    {"floe.route.max-new-tables": "5"},
    {"iceberg.tables.evolve-schema-enabled": "true", "iceberg.tables.auto-create-enabled": "true"},
    {"topics": f"{TOPIC},snacks"},
    {"iceberg.tables.default-commit-branch": "main"},
    JSON_KEYS,
    {"key.converter": "LongConverter"},
]


@pytest.mark.parametrize("routing", [STATIC, BY_FIELD], ids=["static", "by field"])
@pytest.mark.parametrize("change", CHANGES_NOTHING, ids=lambda change: next(iter(change)))
def test_setting_without_effect_on_rows_is_not_in_route_hash(routing: dict[str, str], change: dict[str, str]) -> None:
    assert both({**routing, **change}) == both(routing)


@pytest.mark.parametrize("change", CHANGES_NOTHING, ids=lambda change: next(iter(change)))
def test_nor_where_records_name_their_tables(request: pytest.FixtureRequest, change: dict[str, str]) -> None:
    assert both({**DYNAMIC, **change}) == both(DYNAMIC)


def test_the_order_of_tables_is_no_part_of_a_hash() -> None:
    assert both({"iceberg.tables": f"{OTHER},{TABLE}"}) == both(STATIC)


@pytest.mark.parametrize(
    ("routing", "change"),
    [
        (STATIC, {f"floe.table.{TABLE}.topics": "drinks"}),
        (STATIC, {f"iceberg.table.{TABLE}.commit-branch": "audit"}),
        (STATIC, {"iceberg.tables.default-commit-branch": "audit"}),
        (STATIC, BY_FIELD),
        (BY_FIELD, {"iceberg.tables.route-field": "kind.of"}),
        (BY_FIELD, {"iceberg.tables.route-field": "", "floe.route.by": "key"}),
        (BY_FIELD, {"floe.route.by": "key", **JSON_KEYS}),
        (DYNAMIC, {"iceberg.tables.route-field": "kind", **JSON_KEYS}),
        (BY_FIELD, {"iceberg.tables.route-field": "", "floe.route.by": "header", "floe.route.header": "kind"}),
        (BY_FIELD, {f"iceberg.table.{TABLE}.route-regex": "a.+"}),
        (BY_FIELD, {f"floe.table.{TABLE}.topics": "drinks"}),
        (DYNAMIC, {"floe.route.by": "header", "floe.route.header": "kind"}),
        (DYNAMIC, {"floe.route.namespace": "", "floe.route.template": "rpc.o{value}"}),
        (DYNAMIC, {"floe.route.namespace": "", "iceberg.tables.dynamic-enabled": "true"}),
        (DYNAMIC, {"iceberg.tables.default-commit-branch": "audit"}),
        (DYNAMIC, {f"iceberg.table.{TABLE}.commit-branch": "audit"}),
    ],
)
def test_what_decides_which_rows_come_and_where_to_changes_both(
    routing: dict[str, str], change: dict[str, str]
) -> None:
    (route, whole), (changed, changed_whole) = both(routing), both({**routing, **change})
    assert (route != changed, whole != changed_whole) == (True, True)


@pytest.mark.parametrize(
    "change",
    [
        {"iceberg.tables": f"{TABLE},{OTHER},rpc.third"},
        {"iceberg.tables": TABLE},
        {f"floe.table.{OTHER}.topics": "drinks"},
        {f"iceberg.table.{OTHER}.commit-branch": "audit"},
    ],
    ids=["one more", "one less", "topics", "branch"],
)
def test_route_of_another_table_is_in_routing_hash_only(change: dict[str, str]) -> None:
    (route, whole), (same, changed) = both(STATIC), both({**STATIC, **change})
    assert route == same
    assert whole != changed


def test_topics_have_hashes_of_their_own() -> None:
    found = routes({**STATIC, f"floe.table.{TABLE}.topics": TOPIC})
    plain = routes(STATIC)
    assert found.of(TABLE, [TOPIC, "drinks"]).keys() == {TOPIC, "drinks"}
    assert found.route(TOPIC, TABLE) == plain.route(TOPIC, TABLE), "it gets all of this one, as before"
    assert found.route("drinks", TABLE) != plain.route("drinks", TABLE)
    assert plain.route(TOPIC, TABLE) != plain.route("drinks", TABLE)


def test_table_of_every_record_has_hash_without_routing() -> None:
    assert routes(STATIC).route(TOPIC, TABLE) == route_hash(TOPIC, None)
    over = {**BY_FIELD, f"iceberg.table.{TABLE}.route-regex": "", f"floe.table.{OTHER}.topics": TOPIC}
    all_of_topic = {key: value for key, value in over.items() if not key.endswith("route-regex")}
    assert routes(all_of_topic).route(TOPIC, OTHER) == route_hash(TOPIC, None)
    assert routes(all_of_topic).route(TOPIC, TABLE) != route_hash(TOPIC, None)


def test_a_table_has_a_branch_of_its_own() -> None:
    found = routes({**STATIC, f"iceberg.table.{TABLE}.commit-branch": "audit"})
    assert (found.branch(TABLE), found.branch(OTHER)) == ("audit", "main")
    assert found.on_branch(TOPIC, TABLE, "main") == routes(STATIC).route(TOPIC, TABLE)
    assert found.route(TOPIC, TABLE) == route_hash(TOPIC, "audit")
