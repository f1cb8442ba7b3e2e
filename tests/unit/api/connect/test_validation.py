"""The check of a configuration in Connect's form: each key with its definition, its value and its errors."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.api.site import Site
from tests.support.rest.connect_calls import PLUGIN
from tests.support.rest.floe_worker import BASE, CONFIG

GOOD = {**CONFIG, "name": "one"}


def check(site: Site, config: dict[str, Any], plugin: str = PLUGIN) -> dict[str, Any]:
    answer = site.client(BASE, "op").put(f"/connector-plugins/{plugin}/config/validate", json=config)
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def errors(found: dict[str, Any]) -> dict[str, list[str]]:
    return {one["value"]["name"]: one["value"]["errors"] for one in found["configs"] if one["value"]["errors"]}


def test_good_configuration_has_no_errors(site: Site) -> None:
    found = check(site, GOOD)
    assert (found["name"], found["error_count"], errors(found)) == (PLUGIN, 0, {})
    values = {one["value"]["name"]: one["value"]["value"] for one in found["configs"]}
    assert {key: values[key] for key in GOOD} == GOOD
    assert values["iceberg.control.commit.interval-ms"] == "300000"


def test_answer_has_the_fields_of_connect(site: Site) -> None:
    (one, *_) = check(site, GOOD)["configs"]
    assert set(one["definition"]) == {
        *("name", "type", "required", "default_value", "importance", "documentation", "group", "width", "display_name"),
        *("dependents", "order_in_group"),
    }
    assert set(one["value"]) == {"name", "value", "recommended_values", "errors", "visible"}


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"tasks.max": "many"}, "tasks.max"),
        ({"iceberg.tabels": "x"}, "iceberg.tabels"),
        ({"iceberg.tables": ""}, "iceberg.tables"),
        ({"topics": ""}, "topics"),
        ({"connector.class": "IcebergSinkConnector", "name": "a b"}, "name"),
        ({"iceberg.catalog.uri": "http://evil.example"}, "iceberg.catalog.uri"),
        ({"iceberg.catalog.type": "nothing", "iceberg.catalog.warehouse": "s3://lake/x"}, "iceberg.catalog.type"),
        ({"errors.tolerance": "some"}, "errors.tolerance"),
        ({"value.converter": "X"}, "value.converter"),
        ({"transforms": "t"}, "transforms.t.type"),
    ],
)
def test_error_is_at_its_key(site: Site, change: dict[str, str], key: str) -> None:
    plugin = change.get("connector.class", PLUGIN)
    found = check(site, {**GOOD, **change}, plugin)
    assert (key in errors(found), found["error_count"] >= 1) == (True, True)


def test_secret_is_not_in_the_answer(site: Site) -> None:
    found = check(site, {**GOOD, "iceberg.catalog.token": "token-of-the-lake", "tasks.max": "x"})
    assert "token-of-the-lake" not in str(found)


def test_files_are_checked_as_files_without_the_switch(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLOE_REST_CONNECTORS")
    config = {**GOOD, "iceberg.catalog.uri": "http://anywhere.example", "floe.kafka.conn-id": "prod"}
    assert errors(check(site, config)) == {}


def test_keys_of_the_plugin_are_described(site: Site) -> None:
    found = {one["name"]: one for one in site.client(BASE).get(f"/connector-plugins/{PLUGIN}/config").json()}
    assert (found["tasks.max"]["type"], found["tasks.max"]["default_value"]) == ("INT", "1")
    assert found["value.converter"]["required"] is True


def test_plugins_beside_the_sink_are_listed_if_asked(site: Site) -> None:
    found = site.client(BASE).get("/connector-plugins?connectorsOnly=false").json()
    assert {one["type"] for one in found} == {"sink", "converter", "transformation", "predicate"}


@pytest.mark.parametrize(
    ("plugin", "named", "status", "name"),
    [
        (PLUGIN, PLUGIN, 200, PLUGIN),
        (PLUGIN, None, 200, PLUGIN),
        ("IcebergSink", PLUGIN, 200, PLUGIN),
        ("IcebergSinkConnector", "IcebergSink", 200, "IcebergSink"),
        (PLUGIN, "IcebergSinkConnector", 400, None),
        (PLUGIN, "evil.IcebergSinkConnector", 400, None),
        (PLUGIN, "", 400, None),
    ],
)
def test_class_is_compared_as_a_worker_does(
    site: Site, plugin: str, named: str | None, status: int, name: str | None
) -> None:
    given = {key: value for key, value in GOOD.items() if key != "connector.class"}
    given |= {} if named is None else {"connector.class": named}
    answer = site.client(BASE).put(f"/connector-plugins/{plugin}/config/validate", json=given)
    assert (answer.status_code, answer.json().get("name")) == (status, name)


@pytest.mark.parametrize("name", ["", " ", "a ", "\t"])
def test_name_with_blanks_is_an_error_of_the_name(site: Site, name: str) -> None:
    assert list(errors(check(site, {**GOOD, "name": name}))) == ["name"]


def test_null_is_an_error_of_its_key(site: Site) -> None:
    found = errors(check(site, {**GOOD, "errors.tolerance": None, "x.y": None}))
    assert found == {key: [f"{key!r} is null: give it a value or leave it out"] for key in ("errors.tolerance", "x.y")}


def test_keys_are_numbered_in_their_groups(site: Site) -> None:
    found = [one["definition"] for one in check(site, {**GOOD, "x.y": "1"})["configs"]]
    for group in {one["group"] for one in found}:
        orders = [one["order_in_group"] for one in found if one["group"] == group]
        assert orders == list(range(1, len(orders) + 1))


def test_default_with_a_name_in_it_is_no_value(site: Site) -> None:
    values = {one["value"]["name"]: one["value"]["value"] for one in check(site, GOOD)["configs"]}
    assert [key for key, value in values.items() if value and "<" in value] == []


def test_answer_of_a_connector_is_valid(site: Site) -> None:
    client = site.client(BASE)
    client.put("/connectors/one/config", json={**CONFIG, "iceberg.catalog.token": "token-of-the-lake"})
    assert check(site, client.get("/connectors/one/config").json())["error_count"] == 0


@pytest.mark.parametrize(
    ("query", "all_kinds"),
    [
        *(("", False), ("?connectorsOnly", False), ("?connectorsOnly=", False), ("?connectorsOnly=TRUE", False)),
        *(("?connectorsOnly=x", True), ("?connectorsOnly=false&connectorsOnly=true", True)),
    ],
)
def test_plugins_take_the_query_as_a_worker_does(site: Site, query: str, all_kinds: bool) -> None:
    answer = site.client(BASE).get(f"/connector-plugins{query}")
    assert (answer.status_code, len(answer.json()) > 1) == (200, all_kinds)
