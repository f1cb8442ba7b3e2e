"""Making, changing and deleting connectors: what is stored, what is answered, and what a second change at once gets."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import select

from floe.api.connect import connector_store
from floe.config.stored.operator_lists import secret_reference
from floe.config.stored.stored_connector import CONNECTOR, SECRETS
from tests.support.api.site import BUNDLE, Site
from tests.support.rest.connect_calls import PLUGIN
from tests.support.rest.connectors import CONNECTORS, HOSTS, IDENTITIES, connector_of
from tests.support.rest.floe_worker import BASE, CONFIG

TOKEN = "iceberg.catalog.token"
SECRET = "token-of-the-lake"
REFERENCE = secret_reference("one", TOKEN)


@pytest.fixture
def one(site: Site) -> Site:
    """A site with a connector ``one`` that has a secret."""
    answer = site.client(BASE).put("/connectors/one/config", json={**CONFIG, TOKEN: SECRET})
    assert answer.status_code == 201
    return site


def asked_files() -> set[tuple[str, str]]:
    from airflow.models.dagbag import DagPriorityParsingRequest
    from airflow.utils.session import create_session

    with create_session() as session:
        query = select(DagPriorityParsingRequest.bundle_name, DagPriorityParsingRequest.relative_fileloc)
        return {(bundle, file) for bundle, file in session.execute(query)}


def test_secret_is_answered_as_reference_and_stored_encrypted(one: Site) -> None:
    client = one.client(BASE)
    pages = [client.get(f"/connectors{path}").text for path in ("/one", "/one/config", "/one/tasks", "?expand=info")]
    assert all(SECRET not in page and REFERENCE in page for page in (pages[0], pages[1], pages[3]))
    assert all(SECRET not in value and REFERENCE not in value for value in one.raw_values())
    assert SECRET not in (one.variable(CONNECTOR + "one") or "")
    assert json.loads(one.variable(SECRETS + "one") or "") == {TOKEN: SECRET}


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_reference_that_is_sent_back_keeps_the_secret(one: Site, method: str) -> None:
    client = one.client(BASE)
    config = {**client.get("/connectors/one/config").json(), "tasks.max": "3"}
    answer = client.request(method, "/connectors/one/config", json=config)
    assert (answer.status_code, answer.json()["config"]["tasks.max"]) == (200, "3")
    assert json.loads(one.variable(SECRETS + "one") or "") == {TOKEN: SECRET}


@pytest.mark.parametrize("name", CONNECTORS)
def test_connector_as_people_write_it_is_made_and_validated(
    site: Site, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("FLOE_REST_HOSTS", HOSTS)
    monkeypatch.setenv("FLOE_REST_CONNECTIONS", IDENTITIES)
    client, config = site.client(BASE), connector_of(name)
    path = "/connector-plugins/org.apache.iceberg.connect.IcebergSinkConnector/config/validate"
    found = client.put(path, json={**config, "name": "one", "connector.class": PLUGIN}).json()
    assert [one["value"]["errors"] for one in found["configs"] if one["value"]["errors"]] == []
    answer = client.post("/connectors", json={"name": "one", "config": config})
    assert (answer.status_code, answer.json()["config"].keys()) == (201, {**config, "name": ""}.keys())
    sent_back = client.put("/connectors/one/config", json=answer.json()["config"])
    assert (sent_back.status_code, sent_back.json()) == (200, answer.json())


def test_registry_is_taken_by_its_host(site: Site) -> None:
    key = "value.converter.schema.registry.url"
    config = {**CONFIG, "value.converter": "io.confluent.connect.avro.AvroConverter"}
    del config["value.converter.schemas.enable"]
    other = site.client(BASE).put("/connectors/one/config", json={**config, key: "http://evil.example:8181"})
    assert (other.status_code, other.json()["message"].splitlines()[1]) == (
        400,
        f"{key} 'http://evil.example:8181': 'http://evil.example:8181' is not in FLOE_REST_HOSTS of Airflow's "
        "environment: the operator adds it there",
    )
    listed = site.client(BASE).put("/connectors/one/config", json={**config, key: "http://catalog.example:8181"})
    assert (listed.status_code, listed.json()["config"][key]) == (201, "http://catalog.example:8181")


def test_secret_that_is_left_out_is_removed(one: Site) -> None:
    assert one.client(BASE).put("/connectors/one/config", json=CONFIG).status_code == 200
    assert one.variable(SECRETS + "one") is None


@pytest.mark.parametrize("reference", [secret_reference("two", TOKEN), secret_reference("one", "x"), "${env:HOME}"])
def test_other_reference_is_refused_and_changes_nothing(one: Site, reference: str) -> None:
    before = sorted(one.raw_values())
    answer = one.client(BASE).put("/connectors/one/config", json={**CONFIG, TOKEN: reference})
    assert (answer.status_code, sorted(one.raw_values())) == (400, before)


def test_same_configuration_changes_no_row(one: Site) -> None:
    client, before = one.client(BASE), one.raw_values()
    assert client.put("/connectors/one/config", json=client.get("/connectors/one/config").json()).status_code == 200
    assert one.raw_values() == before


def test_new_connector_is_parsed_at_once(one: Site) -> None:
    one.add_dag("other", file="floe/sink.py")
    one.add_dag("other.replay", "floe", "replay", file="floe/replay.py")
    assert one.client(BASE).put("/connectors/two/config", json=CONFIG).status_code == 201
    assert {(BUNDLE, "floe/rest_sink.py"), (BUNDLE, "floe/rest_replay.py")} <= asked_files()
    assert one.client(BASE).delete("/connectors/two").status_code == 204


@pytest.mark.parametrize(("state", "paused"), [("running", False), ("PAUSED", True), ("STOPPED", True)])
def test_state_of_new_connector_counts_over_an_old_dag(site: Site, state: str, paused: bool) -> None:
    site.add_dag("one", is_paused=not paused)
    body = {"name": "one", "config": CONFIG, "initial_state": state}
    assert site.client(BASE).post("/connectors", json=body).status_code == 201
    assert site.is_paused("one") == paused
    found = site.client(BASE).get("/connectors/one/status").json()["connector"]["state"]
    assert found == state.upper()


@pytest.mark.parametrize(
    ("dag_id", "tags"),
    [("one", ("payroll",)), ("one.replay", ("payroll",)), ("one", ("floe", "status")), ("one", ("sink",))],
)
def test_name_of_another_dag_is_refused(site: Site, dag_id: str, tags: tuple[str, ...]) -> None:
    site.add_dag(dag_id, *tags)
    answer = site.client(BASE).put("/connectors/one/config", json=CONFIG)
    assert (answer.status_code, site.raw_values()) == (409, [])
    assert "which is no connector's" in answer.json()["message"]


def test_location_of_new_connector_is_below_the_base(site: Site) -> None:
    answer = site.client(BASE).post("/connectors", json={"name": "one", "config": CONFIG})
    assert answer.headers["location"] == "/connect/connectors/one"


def test_change_of_what_another_changed_is_a_conflict(one: Site) -> None:
    from airflow.utils.session import create_session

    from floe.api.connect.connector_store import known_connectors

    with create_session() as session:
        stale = known_connectors(session, "one")["one"]
    assert one.client(BASE).patch("/connectors/one/config", json={"tasks.max": "2"}).status_code == 200
    stored = stale.stored
    assert stored is not None and stale.row is not None
    with create_session() as session, pytest.raises(Exception, match="conflicting operation") as refused:
        connector_store.replace(session, stored, stale.row)
    assert refused.value.status == 409  # type: ignore[attr-defined]
    with create_session() as session, pytest.raises(Exception, match="conflicting operation"):
        connector_store.hold(session, "one", stale.row)
    assert one.client(BASE).get("/connectors/one").json()["config"]["tasks.max"] == "2"


def test_two_that_make_one_name_get_one_connector(site: Site) -> None:
    from airflow.utils.session import create_session

    from floe.config.stored.stored_connector import StoredConnector

    with create_session() as session:
        connector_store.create(session, StoredConnector("one", CONFIG))
    with create_session() as session, pytest.raises(Exception, match="already exists"):
        connector_store.create(session, StoredConnector("one", CONFIG))


@pytest.mark.parametrize("dag_id", ["one", "one.replay"])
@pytest.mark.parametrize("end", ["success", "failed"])
@pytest.mark.parametrize("is_paused", [False, True])
def test_connector_with_an_active_run_goes_when_it_has_ended(one: Site, dag_id: str, end: str, is_paused: bool) -> None:
    one.add_dag("one", is_paused=is_paused)
    one.add_dag("one.replay", "floe", "replay", file="replay.py", is_paused=is_paused)
    run = one.add_run(dag_id, "running")
    one.add_run("one", "queued", run_id="waits")
    client = one.client(BASE)
    assert client.delete("/connectors/one").status_code == 204
    # the run needs the configuration, and Airflow ends no run of a paused DAG
    assert (one.variable(CONNECTOR + "one") is not None, one.variable(SECRETS + "one") is not None) == (True, True)
    assert (one.is_paused(dag_id), one.is_paused("one"), one.is_stale("one")) == (False, dag_id != "one", False)
    assert ("waits", "failed", {}) in one.runs("one")
    awaited = f"run {run!r} of the DAG {dag_id!r}"
    for path in ("", "/config", "/status", "/tasks", "/offsets"):
        answer = client.get(f"/connectors/one{path}")
        assert (answer.status_code, awaited in answer.json()["message"]) == (404, True)
    assert (client.get("/connectors").json(), client.get("/connectors?expand=status").json()) == ([], {})
    assert client.delete("/connectors/one").status_code == 404
    for answer in (
        client.post("/connectors", json={"name": "one", "config": CONFIG}),
        client.put("/connectors/one/config", json=CONFIG),
    ):
        assert (answer.status_code, awaited in answer.json()["message"]) == (409, True)
    one.end_run(dag_id, run, end)
    assert (one.raw_values(), one.is_paused("one"), one.is_stale("one")) == ([], True, True)
    assert one.is_paused("one.replay") is False
    assert client.post("/connectors", json={"name": "one", "config": CONFIG}).status_code == 201


def test_connector_whose_run_ended_unseen_goes_at_the_next_request(one: Site) -> None:
    one.add_dag("one")
    run = one.add_run("one", "running")
    client = one.client(BASE)
    assert client.delete("/connectors/one").status_code == 204
    one.end_run("one", run, "success", is_heard=False)
    assert client.post("/connectors", json={"name": "one", "config": CONFIG}).status_code == 201
    assert one.audit_log()[-2][0] == "floe.connector.delete"


def test_run_of_a_dag_that_is_gone_keeps_no_connector(one: Site) -> None:
    one.add_dag("one")
    run = one.add_run("one", "running")
    one.set_stale("one", is_stale=True)
    assert one.client(BASE).delete("/connectors/one").status_code == 204
    assert (one.raw_values(), one.runs("one")) == ([], [(run, "failed", {})])


def test_delete_removes_all_variables_and_ends_runs_that_wait(one: Site) -> None:
    one.add_dag("one")
    assert one.client(BASE).put("/connectors/one/stop").status_code == 204
    one.add_run("one", "success")
    one.add_run("one", "queued")
    assert one.client(BASE).delete("/connectors/one").status_code == 204
    assert (one.raw_values(), one.is_paused("one"), one.is_stale("one")) == ([], True, True)
    assert [state for _, state, _ in one.runs("one")] == ["success", "failed"]


def test_delete_leaves_no_asset_that_only_the_connector_names(one: Site) -> None:
    one.add_dag("one")
    one.add_dag("other")
    one.add_asset("iceberg://demo/db/own", "one", alias="floe.one")
    one.add_asset("iceberg://demo/db/both", "one", "other", alias="floe.one")
    one.add_asset("iceberg://demo/db/others", "other", alias="floe.one2")
    assert one.client(BASE).delete("/connectors/one").status_code == 204
    assert one.named_assets() == {
        "iceberg://demo/db/both": ["other"],
        "iceberg://demo/db/others": ["floe.one2", "other"],
    }


def test_file_is_not_changed_by_rest(site: Site) -> None:
    keys = {**CONFIG, "name": "filed", TOKEN: SECRET}
    site.add_file("some-file", keys)
    site.add_dag("filed")
    client = site.client(BASE)
    config = client.get("/connectors/filed/config").json()
    assert config == {**keys, TOKEN: secret_reference("filed", TOKEN)}
    assert client.put("/connectors/filed/config", json=config).status_code == 200
    assert client.put("/connectors/filed/config", json=keys).status_code == 200
    for answer in (
        client.put("/connectors/filed/config", json={**config, "tasks.max": "2"}),
        client.patch("/connectors/filed/config", json={"tasks.max": "2"}),
        client.delete("/connectors/filed"),
    ):
        assert (answer.status_code, "'some-file.json'" in answer.json()["message"]) == (409, True)
    answer = client.post("/connectors", json={"name": "filed", "config": CONFIG})
    assert (answer.status_code, answer.json()["message"]) == (409, "Connector filed already exists")


def test_file_that_changes_is_read_again(site: Site) -> None:
    site.add_file("filed", {**CONFIG, "name": "filed"})
    site.add_dag("filed")
    assert site.client(BASE).get("/connectors/filed").json()["tasks"] == [{"connector": "filed", "task": 0}]
    site.add_file("filed", {**CONFIG, "name": "filed", "tasks.max": "2"})
    assert len(site.client(BASE).get("/connectors/filed").json()["tasks"]) == 2


def test_group_of_a_file_is_refused(site: Site) -> None:
    site.add_file("filed", {**CONFIG, "name": "filed", "iceberg.connect.group-id": "connect-one"})
    answer = site.client(BASE).put("/connectors/one/config", json=CONFIG)
    assert (answer.status_code, "that of a connector file" in answer.json()["message"]) == (400, True)


def test_failed_run_of_a_deleted_connector_is_not_the_new_ones(one: Site) -> None:
    client = one.client(BASE)
    one.add_dag("one")
    one.add_run("one", "failed", {"plan": "failed"})
    assert client.delete("/connectors/one").status_code == 204
    assert client.put("/connectors/one/config", json=CONFIG).status_code == 201
    one.set_stale("one", is_stale=False)
    assert client.get("/connectors/one/status").json()["tasks"][0]["state"] == "RUNNING"
    assert client.put("/connectors/one/config", json={**CONFIG, "tasks.max": "2"}).status_code == 200
    states = [task["state"] for task in client.get("/connectors/one/status").json()["tasks"]]
    assert states == ["RUNNING", "RUNNING"]


def test_folder_that_cannot_be_read_frees_no_name(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    (site.folder / "no-folder").write_text("")
    for name, status in (("no-folder", 500), ("missing", 201)):
        monkeypatch.setenv("FLOE_CONNECTORS_DIR", str(site.folder / name))
        answer = site.client(BASE).put("/connectors/one/config", json=CONFIG)
        assert (answer.status_code, bool(site.raw_values())) == (status, status == 201)
