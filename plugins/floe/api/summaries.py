"""What the page shows of connectors, as JSON: pure, from what is kept of them and from the states of their DAGs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from floe.api.dag_states import DagState
from floe.api.records import KeptStatus
from floe.status.model import CommitStatus
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
