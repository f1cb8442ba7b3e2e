"""Changes by REST are in Airflow's audit log: who changed which connector and which keys, never a value."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from floe.api.connect import offset_changes
from floe.status.record_codec import dump, key_of
from tests.support.api.records import record
from tests.support.api.site import Site
from tests.support.rest.connect_calls import TOPIC
from tests.support.rest.floe_worker import BASE, CONFIG

TOKEN, SECRET = "iceberg.catalog.token", "kanary-of-the-lake"


@pytest.fixture
def one(site: Site) -> Site:
    """A site with a connector of a file that is a DAG."""
    site.add_file("one", {**CONFIG, "name": "one"})
    site.add_dag("one")
    return site


def test_connector_made_and_changed_has_an_entry_each(site: Site) -> None:
    client = site.client(BASE, "op")
    body = {"name": "two", "config": {**CONFIG, TOKEN: SECRET}, "initial_state": "PAUSED"}
    assert client.post("/connectors", json=body).status_code == 201
    site.add_dag("two")
    assert client.patch("/connectors/two/config", json={"tasks.max": "7", TOKEN: SECRET + "2"}).status_code == 200
    assert client.patch("/connectors/two/config", json={TOKEN: None}).status_code == 200
    assert client.put("/connectors/two/config", json={**CONFIG, "tasks.max": "7"}).status_code == 200  # as it is
    assert client.delete("/connectors/two").status_code == 204
    assert client.put("/connectors/two/config", json=CONFIG).status_code == 201
    made = {"keys": sorted([*CONFIG, TOKEN, "name"]), "initial_state": "PAUSED"}
    again = {"keys": sorted([*CONFIG, "name"]), "initial_state": "RUNNING"}
    assert site.audit_log() == [
        ("floe.connector.create", "op", "two", made),
        ("floe.connector.configure", "op", "two", {"keys": [TOKEN, "tasks.max"]}),
        ("floe.connector.configure", "op", "two", {"keys": [TOKEN]}),
        ("floe.connector.delete", "op", "two", {}),
        ("floe.connector.create", "op", "two", again),
    ]
    assert SECRET not in str(site.audit_log())


def test_states_that_are_set_have_an_entry_each(one: Site) -> None:
    run = one.add_run("one", "failed", {"plan": "success", "write": "failed", "commit": "upstream_failed"})
    client = one.client(BASE, "user")
    assert client.post("/connectors/one/restart").status_code == 204
    for state in ("pause", "resume", "stop"):
        assert client.put(f"/connectors/one/{state}").status_code in (202, 204)
    found = one.audit_log()
    assert [(event.rpartition(".")[2], user, dag) for event, user, dag, _ in found] == [
        (state, "user", "one") for state in ("restart", "pause", "resume", "stop")
    ]
    assert found[0][3] == {"tasks": ["write", "commit"]}
    assert one.task_states("one", run)["plan"] == "success"


def test_offsets_that_are_moved_have_an_entry(one: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[dict[str, Any]] = []
    dag = SimpleNamespace(params={"skip_to": None}, create_dagrun=lambda **run: runs.append(run))
    latest = SimpleNamespace(get_latest_version_of_dag=lambda name, session: dag)
    monkeypatch.setattr(offset_changes, "DBDagBag", lambda: latest)
    kept = record("one", TOPIC, "db.orders", partitions=300, lag=3_000)
    one.set_variable(key_of("one"), dump(kept))
    ends = {part.partition: part.end for part in kept.status.partitions or ()}
    client = one.client(BASE, "user")
    assert client.put("/connectors/one/stop").status_code == 204
    offsets = [
        {"partition": {"kafka_topic": TOPIC, "kafka_partition": number}, "offset": {"kafka_offset": ends[number]}}
        for number in range(300)
    ]
    assert client.patch("/connectors/one/offsets", json={"offsets": offsets}).status_code == 200
    event, user, dag_id, details = one.audit_log()[-1]
    assert (event, user, dag_id, details["partitions"]) == ("floe.connector.offsets", "user", "one", 300)
    assert (len(details["offsets"]), details["offsets"][f"{TOPIC}-0"], len(runs)) == (100, ends[0], 1)


@pytest.mark.parametrize(
    ("user", "method", "path", "body"),
    [
        ("viewer", "PUT", "/connectors/one/pause", None),
        ("viewer", "POST", "/connectors", {"name": "two", "config": CONFIG}),
        ("admin", "POST", "/connectors", {"name": "one", "config": CONFIG}),
        ("admin", "POST", "/connectors", {"name": "two", "config": {**CONFIG, "topics": ""}}),
        ("admin", "PUT", "/connectors/one/config", {**CONFIG, "tasks.max": "9"}),
        ("admin", "DELETE", "/connectors/one", None),
        ("admin", "POST", "/connectors/one/restart", None),
        ("admin", "PATCH", "/connectors/one/offsets", {"offsets": []}),
        ("admin", "PUT", "/connector-plugins/IcebergSinkConnector/config/validate", CONFIG),
        ("admin", "GET", "/connectors/one", None),
        ("other", "PUT", "/connectors/one/stop", None),
    ],
)
def test_call_that_changes_nothing_has_no_entry(one: Site, user: str, method: str, path: str, body: object) -> None:
    one.client(BASE, user).request(method, path, json=body)
    assert one.audit_log() == []


def test_entry_of_a_thousand_keys_is_short(site: Site) -> None:
    many = {f"iceberg.catalog.header.X-{number}": "v" for number in range(900)}
    answer = site.client(BASE).put("/connectors/two/config", json={**CONFIG, **many, "k" * 5_000: "v"})
    assert answer.status_code == 201
    ((_, _, _, details),) = site.audit_log()
    assert (len(details["keys"]), details["more_keys"], max(map(len, details["keys"])) <= 200) == (100, 813, True)
