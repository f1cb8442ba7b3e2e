"""What the page shows of connectors, as JSON: pure, from what is kept of them and from the states of their DAGs."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final

from airflow.models.taskinstance import TaskInstance
from airflow.models.xcom import XComModel
from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from floe.api.dag_states import DagState
from floe.api.records import KeptStatus, read, stored_texts
from floe.status.connector_status import CommitStatus
from floe.status.record import StatusRecord

ACTIVE = frozenset({"queued", "running"})
NOTHING_KEPT = "no status is kept yet: the DAG floe.status collects it every minute, and each run at its end"


def state(dag: DagState, *, has_scheduler: bool = True, has_problems: bool = False) -> str:
    """Say how a connector is, in one word: what needs a person comes first.

    ``failing``: a run is active, and the last ones that ended have failed. ``stalled``: Airflow's scheduler is not alive.
    ``problems``: no run failed yet of what the status found, such as a table that was rolled back.
    """
    if dag.is_broken:
        return "broken"
    if dag.run is not None and dag.run.state == "failed":
        return "failed"
    if dag.is_paused and not _is_active(dag):
        return "paused"
    if not has_scheduler:
        return "stalled"
    if _is_active(dag):
        return "running" if dag.failing is None else "failing"
    return "problems" if has_problems else "ready"


def _is_active(dag: DagState) -> bool:
    return dag.run is not None and dag.run.state in ACTIVE


@dataclass(frozen=True, slots=True)
class Brief:
    """What the list of all connectors shows of a record, or why there is none to show.

    ``measured``: the record without what metrics do not need.
    """

    status: Mapping[str, Any] | None
    problem: str | None = None
    measured: StatusRecord | None = None


def brief(kept: KeptStatus) -> Brief:
    """Sum a record up."""
    record = kept.record
    return Brief(None, kept.problem) if record is None else Brief(_sums(record), None, _measured(record))


def line(dag: DagState, summary: Brief | None, *, has_scheduler: bool = True) -> dict[str, Any]:
    """Return the connector's line in the list of all connectors."""
    known = summary or Brief(None, NOTHING_KEPT)
    has_problems = known.status is not None and bool(known.status["problems"])
    its = state(dag, has_scheduler=has_scheduler, has_problems=has_problems)
    fields = {"name": dag.dag_id, "state": its, "dag": dag.to_json()}
    return {**fields, "problem": known.problem, "status": known.status}


def whole(
    dag: DagState, kept: KeptStatus | None, rights: Mapping[str, bool], *, has_scheduler: bool = True
) -> dict[str, Any]:
    """Return all that is kept of a connector. Bytes of records are in it only for those who may see them."""
    record = None if kept is None else kept.record
    if record is not None and not rights["records"]:
        record = _without_samples(record)
    return {
        "name": dag.dag_id,
        "state": state(dag, has_scheduler=has_scheduler, has_problems=record is not None and bool(_problems(record))),
        "dag": dag.to_json(),
        "may": dict(rights),
        "problem": NOTHING_KEPT if kept is None else kept.problem,
        "record": None if record is None else record.to_json(),
    }


def _sums(record: StatusRecord) -> dict[str, Any]:
    status = record.status
    tables = status.tables or ()
    valid = [table.valid_through for table in tables if not table.is_dead_letters]
    committed = [table.committed_at for table in tables if table.committed_at]
    letters, freshness = record.dead_letters, record.freshness
    late = freshness.late if freshness is not None else ()
    return {
        "at": status.at.isoformat(),
        "lag": status.lag,
        "lag_seconds": record.lag_seconds,
        "seconds_until_lost": record.seconds_until_lost,
        "partitions": None if status.partitions is None else len(status.partitions),
        "tables": None if status.tables is None else len(tables),
        "valid_through": min(moment for moment in valid if moment).isoformat() if valid and all(valid) else None,
        "committed_at": max(committed).isoformat() if committed else None,
        "late": 0 if freshness is None else freshness.late_count,
        "late_through": late[0].through.isoformat() if late else None,
        "late_table": late[0].table if late else None,
        "backlog": sum(len(backlog) for backlog in status.backlog),
        "dead_letters": None if letters is None else sum(reason.count for reason in letters),
        "problems": _problems(record),
    }


def _problems(record: StatusRecord) -> list[str]:
    """Return problems of the connector, its partitions and its tables."""
    status = record.status
    return [
        *status.problems,
        *(f"{one.topic}-{one.partition}: {one.problem}" for one in status.partitions or () if one.problem),
        *(f"{one.name}: {one.problem}" for one in status.tables or () if one.problem),
    ][:20]


def _measured(record: StatusRecord) -> StatusRecord:
    """Leave out spans, events, points, bytes, and commits but the newest and the newest that has a valid-through time."""
    tables = record.status.tables
    if tables is not None:
        tables = tuple(replace(table, commits=_newest(table.commits)) for table in tables)
    status = replace(record.status, tables=tables)
    return replace(_without_samples(record), status=status, held=(), events=(), history=())


def _newest(commits: tuple[CommitStatus, ...]) -> tuple[CommitStatus, ...]:
    dated = next((at for at, one in enumerate(commits) if one.valid_through), 0)
    return commits[:1] if dated == 0 else (commits[0], commits[dated])


def _without_samples(record: StatusRecord) -> StatusRecord:
    reasons = record.dead_letters
    return replace(record, dead_letters=reasons and tuple(replace(one, samples=()) for one in reasons))


# Briefs of records, kept in memory by the text that they come from.
#
# To decrypt, parse and check the records of 50 connectors takes over 100 ms. A record changes once a minute, and
# every page that is open asks for all of them every few seconds. A brief is small; a record is not, and none is kept
# whole.


MOST = 2_000
"""Connectors whose briefs are kept."""

_known: dict[str, tuple[bytes, Brief]] = {}


def briefs(session: Session, connectors: Collection[str]) -> dict[str, Brief]:
    """Return the briefs of connectors; those of which nothing is kept are left out."""
    found: dict[str, Brief] = {}
    for name, text in stored_texts(session, connectors).items():
        digest = sha256(text.value.encode("utf-8", "surrogatepass")).digest()
        before = _known.get(name)
        if before is None or before[0] != digest:
            if len(_known) >= MOST:
                _known.clear()
            before = _known[name] = (digest, brief(read(text)))
        found[name] = before[1]
    return found


# What the failed tasks of runs left: the error of each, as XCom has it.


FAILURE_KEY: Final = "failure"
"""The XCom in which floe's tasks leave their error."""


def failures(session: Session, failed: Mapping[str, str]) -> dict[str, list[tuple[str, str | None]]]:
    """Return the failed tasks of runs in the order of their start, each with its error; None where it left none.

    ``failed``: the run's id by DAG.
    """
    if not failed:
        return {}
    its = or_(*((TaskInstance.dag_id == name) & (TaskInstance.run_id == run) for name, run in failed.items()))
    query = select(TaskInstance.dag_id, TaskInstance.task_id).where(its, TaskInstance.state == "failed")
    tasks: dict[str, list[str]] = {}
    for name, task_id in session.execute(query.order_by(TaskInstance.start_date)):
        tasks.setdefault(name, []).append(task_id)
    left = or_(*((XComModel.dag_id == name) & (XComModel.run_id == run) for name, run in failed.items()))
    xcoms = select(XComModel.dag_id, XComModel.task_id, XComModel.value).where(XComModel.key == FAILURE_KEY, left)
    errors = {(name, task): str(_plain(value)) for name, task, value in session.execute(xcoms)}
    return {name: [(task, errors.get((name, task))) for task in some] for name, some in tasks.items()}


def _plain(value: object) -> object:
    """Return a value of XCom, which Airflow stores as JSON in JSON."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value
