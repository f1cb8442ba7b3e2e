"""What is read of Airflow's database, and by how many queries."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from airflow.models.base import Base
from airflow.models.dag import DagModel, DagTag
from airflow.models.dagrun import DagRun
from airflow.models.tasklog import LogTemplate
from airflow.models.variable import Variable
from cryptography.fernet import Fernet
from sqlalchemy import create_engine, event
from sqlalchemy.orm import Session

from floe.api import summaries
from floe.api.dag_states import dag_states, failing_runs, last_runs
from floe.api.records import kept_status, read
from floe.status.record_codec import dump, key_of
from tests.support.api.records import record

NOW = datetime.now(UTC).replace(microsecond=0)


@pytest.fixture
def session() -> Iterator[Session]:
    """A session on a database in memory that has the tables which are read."""
    engine = create_engine("sqlite://")
    Base.metadata.create_all(
        engine, tables=[one.__table__ for one in (DagModel, DagTag, DagRun, LogTemplate, Variable)]
    )
    with Session(engine) as one:
        yield one
    engine.dispose()


@pytest.fixture
def queries(session: Session) -> list[str]:
    """The statements that were sent."""
    sent: list[str] = []
    event.listen(session.get_bind(), "before_cursor_execute", lambda *given: sent.append(given[2]))
    return sent


def dag(session: Session, dag_id: str, *tags: str, **more: Any) -> None:
    values = {"is_paused": False, "is_stale": False, "bundle_name": "b", "max_active_tasks": 1, "timetable_type": ""}
    values |= {"max_consecutive_failed_dag_runs": 0, "has_task_concurrency_limits": False, "fail_fast": False}
    values |= {"timetable_partitioned": False, "timetable_periodic": False, "exceeds_max_non_backfill": False}
    session.execute(DagModel.__table__.insert().values(dag_id=dag_id, **{**values, **more}))
    for tag in tags:
        session.execute(DagTag.__table__.insert().values(name=tag, dag_id=dag_id))


def run(session: Session, dag_id: str, state: str, after: datetime, logical_date: datetime | None, **more: Any) -> None:
    values = {"dag_id": dag_id, "run_id": f"{state}-{after}", "state": state, "run_after": after}
    values |= {"logical_date": logical_date, "run_type": "manual", "triggered_by": "TEST", "span_status": "x"}
    session.execute(DagRun.__table__.insert().values(clear_number=0, **values, **more))


def test_connectors_are_the_dags_that_floe_tagged(session: Session) -> None:
    dag(session, "orders", "floe", "sink", is_paused=True, next_dagrun_create_after=NOW)
    dag(session, "orders.replay", "floe", "replay")
    dag(session, "bad", "floe", "broken", "sink")
    dag(session, "bad.replay", "floe", "broken")
    dag(session, "gone", "floe", "sink", is_stale=True)
    dag(session, "floe.status", "floe")
    dag(session, "other", "sink")
    found = dag_states(session)
    assert {name: (one.is_paused, one.is_broken, one.next_run) for name, one in found.items()} == {
        "orders": (True, False, NOW),
        "bad": (False, True, None),
    }
    assert list(dag_states(session, "orders")) == ["orders"]
    assert dag_states(session, "gone") == {}


def test_last_run_is_the_newest_with_or_without_a_date(session: Session) -> None:
    for name in ("dated", "triggered", "never"):
        dag(session, name, "floe", "sink")
    for ago, state in ((9, "success"), (3, "failed"), (6, "running")):
        run(session, "dated", state, NOW - timedelta(minutes=ago), NOW - timedelta(minutes=ago))
    run(session, "dated", "queued", NOW - timedelta(minutes=7), None)
    run(session, "triggered", "failed", NOW - timedelta(minutes=5), NOW - timedelta(minutes=5))
    run(session, "triggered", "success", NOW - timedelta(minutes=4), None)
    found = last_runs(session, ["dated", "triggered", "never"])
    assert {name: one.state for name, one in found.items()} == {"dated": "failed", "triggered": "success"}


def test_run_that_only_looked_is_not_the_last_one(session: Session) -> None:
    for name in ("looked", "looking", "only", "given"):
        dag(session, name, "floe", "sink")
    for name in ("looked", "looking", "given"):
        run(session, name, "failed", NOW - timedelta(minutes=9), NOW - timedelta(minutes=9), conf={})
    for name in ("looked", "only"):
        for ago, conf in ((5, {"dry_run": True}), (4, {"diagnose": True, "config": None})):
            run(session, name, "success", NOW - timedelta(minutes=ago), None, conf=conf, end_date=NOW)
    run(session, "looking", "running", NOW, None, conf={"diagnose": True})
    run(
        session,
        "given",
        "success",
        NOW,
        None,
        conf={"diagnose": False, "dry_run": None, "max_records": 1},
        end_date=NOW,
    )
    found = {name: one.state for name, one in last_runs(session, ["looked", "looking", "only", "given"]).items()}
    assert found == {"looked": "failed", "looking": "running", "only": "success", "given": "success"}


def test_runs_that_fail_are_counted_from_the_last_good_one(session: Session, queries: list[str]) -> None:
    names = [f"c{index}" for index in range(150)]
    for name in names:
        dag(session, name, "floe", "sink")
        for ago, state in ((9, "failed"), (8, "success"), (7, "failed"), (6, "failed"), (5, "running")):
            at = NOW - timedelta(minutes=ago)
            run(session, name, state, at, at, end_date=None if state == "running" else at + timedelta(seconds=30))
    run(session, "c0", "success", NOW - timedelta(minutes=2), None, conf={"dry_run": True}, end_date=NOW)
    runs = last_runs(session, names)
    queries.clear()
    found = failing_runs(session, runs)
    assert len(queries) == 2 and len(found) == 150
    one = found["c0"]
    assert (one.runs, one.since, one.is_longer) == (2, NOW - timedelta(minutes=7) + timedelta(seconds=30), False)
    assert one.run_id.startswith("failed-")
    assert failing_runs(session, {}) == {}


def keep(session: Session, name: str, value: str, *, is_encrypted: bool = False) -> None:
    values = {"key": key_of(name), "val": value, "is_encrypted": is_encrypted}
    session.execute(Variable.__table__.insert().values(**values))


def test_records_are_read_as_stored_and_others_say_why_not(
    session: Session, queries: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fernet = Fernet(Fernet.generate_key())
    monkeypatch.setattr("floe.api.records.get_fernet", lambda: fernet)
    good, sealed = record("orders", "o", "db.o"), record("sealed", "o", "db.o")
    keep(session, "orders", dump(good))
    keep(session, "sealed", fernet.encrypt(dump(sealed).encode()).decode(), is_encrypted=True)
    keep(session, "lost-key", "gAAAA-of-another-key", is_encrypted=True)
    keep(session, "old", '{"record": 0}')
    keep(session, "text", "<script>alert(1)</script>")
    keep(session, "other", dump(good))
    keep(session, "not-asked-for", dump(good))
    queries.clear()
    found = kept_status(session, ["orders", "sealed", "lost-key", "old", "text", "other", "nothing"])
    assert len(queries) == 1
    assert {name: one.record for name, one in found.items() if one.record} == {"orders": good, "sealed": sealed}
    problems = {name: one.problem for name, one in found.items() if one.problem}
    assert set(problems) == {"lost-key", "old", "text", "other"}
    assert "cannot be decrypted" in problems["lost-key"] and "format 0" in problems["old"]
    assert "of another connector, 'orders'" in problems["other"]


def test_brief_is_made_again_when_the_record_changes(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summaries, "_known", {})
    reads: list[str] = []
    monkeypatch.setattr(summaries, "read", lambda text: reads.append(text.name) or read(text))
    keep(session, "orders", dump(record("orders", "o", "db.o", lag=5)))
    keep(session, "text", "no record")
    first = [summaries.briefs(session, ["orders", "text", "none"]) for _ in range(3)][-1]
    assert (set(first), reads) == ({"orders", "text"}, ["orders", "text"])
    table = Variable.__table__
    changed = dump(record("orders", "o", "db.o", lag=6))
    session.execute(table.update().where(table.c.key == key_of("orders")).values(val=changed))
    second = summaries.briefs(session, ["orders", "text"])
    assert [one["orders"].status and one["orders"].status["lag"] for one in (first, second)] == [5, 6]
    assert (first["text"], reads) == (second["text"], ["orders", "text", "orders"])


def test_number_of_queries_does_not_grow_with_connectors(session: Session, queries: list[str]) -> None:
    names = [f"c{index}" for index in range(30)]
    for name in names:
        dag(session, name, "floe", "sink")
        keep(session, name, dump(record(name, "o", "db.o")))
    queries.clear()
    assert len(last_runs(session, dag_states(session))) == 0
    assert len(kept_status(session, names)) == 30
    assert len(queries) == 3
