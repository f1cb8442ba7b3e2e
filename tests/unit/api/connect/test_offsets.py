"""Offsets: read from the status record, moved forward by a run, never backward."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from floe.api.connect import offset_changes
from floe.status.connector_status import ConnectorStatus, PartitionStatus
from floe.status.record import StatusRecord
from floe.status.record_codec import dump, key_of
from tests.support.api.records import record
from tests.support.api.site import Site
from tests.support.rest.connect_calls import TOPIC
from tests.support.rest.floe_worker import BASE, CONFIG

AT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def one(site: Site) -> Site:
    """A site with a stopped connector whose two partitions were read."""
    site.add_file("one", {**CONFIG, "name": "one"})
    site.add_dag("one")
    site.set_variable(key_of("one"), dump(record("one", TOPIC, "db.orders", partitions=2, start=1000)))
    site.client(BASE).put("/connectors/one/stop")
    return site


def offsets(*wanted: tuple[int, object]) -> dict[str, Any]:
    places = [({"kafka_topic": TOPIC, "kafka_partition": number}, {"kafka_offset": to}) for number, to in wanted]
    return {"offsets": [{"partition": place, "offset": to} for place, to in places]}


def committed(site: Site) -> list[int]:
    found = site.client(BASE).get("/connectors/one/offsets").json()["offsets"]
    assert [one["partition"] for one in found] == [{"kafka_partition": n, "kafka_topic": TOPIC} for n in range(2)]
    return [one["offset"]["kafka_offset"] for one in found]


class Dag(SimpleNamespace):
    """The connector's DAG as Airflow has it; notes the runs that are created."""

    runs: list[Mapping[str, Any]]

    def create_dagrun(self, **run: Any) -> None:
        self.runs.append(run)


@pytest.fixture
def dag(monkeypatch: pytest.MonkeyPatch) -> Dag:
    """The DAG of every connector."""
    found = Dag(params={"skip_to": None, "start_at": None}, runs=[])
    latest = SimpleNamespace(get_latest_version_of_dag=lambda name, session: found)
    monkeypatch.setattr(offset_changes, "DBDagBag", lambda: latest)
    return found


def test_offsets_are_those_of_the_record(one: Site) -> None:
    assert len(set(committed(one))) == 2
    assert one.client(BASE).get("/connectors/one/topics").json() == {"one": {"topics": [TOPIC]}}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"record": 99}'])
def test_record_that_cannot_be_read_has_no_offsets(one: Site, text: str) -> None:
    one.set_variable(key_of("one"), text)
    assert one.client(BASE).get("/connectors/one/offsets").json() == {"offsets": []}


def test_forward_is_a_run_that_skips(one: Site, dag: Dag) -> None:
    first, second = committed(one)
    answer = one.client(BASE, "user").patch("/connectors/one/offsets", json=offsets((0, first + 5), (1, str(second))))
    (run,) = dag.runs
    assert (answer.status_code, run["conf"]) == (200, {"skip_to": {f"{TOPIC}-0": first + 5, f"{TOPIC}-1": second}})
    assert (run["triggering_user_name"], run["run_id"] in answer.json()["message"]) == ("user", True)


def test_backward_is_refused_with_the_replay(one: Site, dag: Dag) -> None:
    first, _ = committed(one)
    answer = one.client(BASE).patch("/connectors/one/offsets", json=offsets((0, first - 5)))
    conf = json.dumps({"topic": TOPIC, "ranges": {"0": [first - 5, first]}})
    assert (answer.status_code, dag.runs) == (400, [])
    assert all(part in answer.json()["message"] for part in ("/api/v2/dags/one.replay/dagRuns", conf))


@pytest.mark.parametrize("state", ["queued", "running"])
def test_offsets_wait_for_an_active_run(one: Site, dag: Dag, state: str) -> None:
    run = one.add_run("one", state)
    answer = one.client(BASE).patch("/connectors/one/offsets", json=offsets((0, committed(one)[0] + 1)))
    assert (answer.status_code, dag.runs, run in answer.json()["message"]) == (409, [], True)


@pytest.mark.parametrize("state", ["pause", "resume"])
def test_offsets_of_what_is_not_stopped_are_not_moved(one: Site, dag: Dag, state: str) -> None:
    client = one.client(BASE)
    client.put(f"/connectors/one/{state}")
    for answer in (
        client.patch("/connectors/one/offsets", json=offsets((0, 10**9))),
        client.delete("/connectors/one/offsets"),
    ):
        assert (answer.status_code, "must be in the STOPPED state" in answer.json()["message"]) == (400, True)
    assert dag.runs == []


def test_offsets_are_not_reset(one: Site) -> None:
    answer = one.client(BASE).delete("/connectors/one/offsets")
    assert (answer.status_code, "one.replay" in answer.json()["message"]) == (400, True)


def test_dag_without_the_param_is_refused(one: Site, dag: Dag) -> None:
    dag.params = {}
    answer = one.client(BASE).patch("/connectors/one/offsets", json=offsets((0, committed(one)[0] + 1)))
    assert (answer.status_code, "'skip_to'" in answer.json()["message"]) == (400, True)


@pytest.mark.parametrize("value", [None, -1, 1.5, True, "x", "१", "1" * 30, [], {}])
def test_what_is_no_offset_is_refused(one: Site, dag: Dag, value: object) -> None:
    answer = one.client(BASE).patch("/connectors/one/offsets", json=offsets((0, value)))
    assert (answer.status_code, dag.runs) == (400, [])


def test_second_request_adds_to_the_run_that_waits(one: Site, dag: Dag) -> None:
    one.add_run("one", "queued", run_id="rest_offsets__1", conf={"skip_to": {f"{TOPIC}-0": 1, f"{TOPIC}-1": 2}})
    to = committed(one)[0] + 5
    answer = one.client(BASE).patch("/connectors/one/offsets", json=offsets((0, to)))
    assert (answer.status_code, dag.runs, "rest_offsets__1" in answer.json()["message"]) == (200, [], True)
    assert one.runs("one") == [("rest_offsets__1", "queued", {"skip_to": {f"{TOPIC}-0": to, f"{TOPIC}-1": 2}})]


def test_topic_that_was_not_read_begins_there(one: Site, dag: Dag) -> None:
    status = ConnectorStatus("one", "connect-one", AT, partitions=(PartitionStatus(TOPIC, 0, None, 3, 9, 6),))
    one.set_variable(key_of("one"), dump(StatusRecord(status)))
    answers = [one.client(BASE).patch("/connectors/one/offsets", json=offsets((0, to))) for to in (2, 10, 3, 9)]
    assert [answer.status_code for answer in answers] == [400, 400, 200, 200]
    assert [run["conf"] for run in dag.runs] == [{"start_at": {f"{TOPIC}-0": 3}}, {"start_at": {f"{TOPIC}-0": 9}}]


def test_offsets_of_other_partitions_are_refused(one: Site, dag: Dag) -> None:
    answer = one.client(BASE).patch("/connectors/one/offsets", json=offsets((7, 1)))
    assert (answer.status_code, f"{TOPIC}-7 is no partition" in answer.json()["message"], dag.runs) == (400, True, [])


def test_offsets_wait_for_the_first_status(one: Site, dag: Dag) -> None:
    one.set_variable(key_of("one"), "")
    answer = one.client(BASE).patch("/connectors/one/offsets", json=offsets((0, 1)))
    assert (answer.status_code, "floe.status" in answer.json()["message"], dag.runs) == (409, True, [])


@pytest.mark.parametrize("where", ["body", "entry"])
def test_unknown_field_of_offsets_is_refused(one: Site, dag: Dag, where: str) -> None:
    body = offsets((0, committed(one)[0] + 1))
    (body if where == "body" else body["offsets"][0])["lag"] = 1
    answer = one.client(BASE).patch("/connectors/one/offsets", json=body)
    assert (answer.status_code, 'Unrecognized field "lag"' in answer.json()["message"], dag.runs) == (400, True, [])


def test_largest_offset_is_a_number(one: Site, dag: Dag) -> None:
    for offset, part in ((2**63 - 1, "beyond the end"), (2**63, "need to be integers")):
        answer = one.client(BASE).patch("/connectors/one/offsets", json=offsets((0, offset)))
        assert (answer.status_code, part in answer.json()["message"]) == (400, True)


@pytest.mark.parametrize("hours", [-1, 1, None])
def test_run_that_moves_is_before_the_next_scheduled_one(one: Site, dag: Dag, hours: int | None) -> None:
    now = datetime.now(UTC)
    due = None if hours is None else now + timedelta(hours=hours)
    one.set_due("one", due)
    one.client(BASE).patch("/connectors/one/offsets", json=offsets((0, committed(one)[0] + 1)))
    (run,) = dag.runs
    assert run["run_after"] < (due or now + timedelta(minutes=1))
    assert run["run_after"] <= datetime.now(UTC)


def test_connector_that_is_resumed_meanwhile_gets_no_run(one: Site, dag: Dag, monkeypatch: pytest.MonkeyPatch) -> None:
    client, to = one.client(BASE), committed(one)[0] + 1
    found = offset_changes.param_of

    def resume(*given: Any) -> str:
        assert client.put("/connectors/one/resume").status_code == 202
        return found(*given)

    monkeypatch.setattr(offset_changes, "param_of", resume)
    answer = client.patch("/connectors/one/offsets", json=offsets((0, to)))
    assert (answer.status_code, "resumed at the same time" in answer.json()["message"], dag.runs) == (409, True, [])
