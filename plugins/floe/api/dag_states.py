"""What Airflow's database knows of connectors' DAGs: paused or not, the next run, the last one, since when runs fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Any

from airflow.models.dag import DagModel, DagTag
from airflow.models.dagrun import DagRun
from sqlalchemy import exists, func, select, union_all
from sqlalchemy.orm import Session, aliased

from floe.config.names import REPLAY_SUFFIX
from floe.config.secrets.mask import clip

TAG, BROKEN = "floe", "broken"
SINK = (BROKEN, "sink")
"""Tags of the DAGs of connectors: all of them have the first, and one of the others."""


_COLUMNS = (
    DagRun.dag_id,
    DagRun.conf,
    DagRun.run_id,
    DagRun.state,
    DagRun.run_after,
    DagRun.start_date,
    DagRun.end_date,
)
_ENDED = frozenset({"success", "failed"})
_LOOKS = ("dry_run", "diagnose")
"""Parameters of runs that only look."""

_ASKED_TEXTS = ("topic", "from_time", "to_time", "overlap")
_ASKED_FLAGS = ("dead_letters", "all", "dry_run")
"""Parameters of replays that are shown."""

_REPLAYS = 10
_FEW = 20
_TOGETHER = 100
"""DAGs whose few newest runs one query asks for: SQLite takes 500 parts at most."""


@dataclass(frozen=True, slots=True)
class RunState:
    """The last run of a DAG. ``state``: as Airflow names it."""

    run_id: str
    state: str
    run_after: datetime
    started: datetime | None
    ended: datetime | None

    def to_json(self) -> dict[str, Any]:
        return {name: _text(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Failing:
    """A DAG whose last runs that ended have failed. ``since``: when the first of them ended; ``run_id``: of the last one.

    ``is_longer``: runs that are older, and were not looked at, may have failed too.
    """

    since: datetime
    runs: int
    run_id: str
    is_longer: bool

    def to_json(self) -> dict[str, Any]:
        return {name: _text(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class DagState:
    """One connector's DAG. ``is_broken``: the connector's file has errors; ``failure``: why the last run failed that did."""

    dag_id: str
    is_paused: bool
    is_broken: bool
    description: str | None
    next_run: datetime | None
    run: RunState | None = None
    failing: Failing | None = None
    failure: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "paused": self.is_paused,
            "broken": self.is_broken,
            "description": self.description,
            "next_run": _text(self.next_run),
            "run": None if self.run is None else self.run.to_json(),
            "failing": None if self.failing is None else self.failing.to_json(),
            "failure": self.failure,
        }


@dataclass(frozen=True, slots=True)
class ReplayRun:
    """A run of a replay DAG. ``asked``: what it is to read, of its parameters; ``failure``: why it failed."""

    run: RunState
    asked: Mapping[str, Any]
    failure: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {**self.run.to_json(), "asked": dict(self.asked), "failure": self.failure}


@dataclass(frozen=True, slots=True)
class Replays:
    """The last runs of a replay DAG, the newest first. ``most``: how many run at once."""

    is_paused: bool
    most: int
    runs: tuple[ReplayRun, ...]

    def to_json(self) -> dict[str, Any]:
        return {"paused": self.is_paused, "most": self.most, "runs": [one.to_json() for one in self.runs]}


def replays(session: Session, dag_id: str) -> Replays | None:
    """Return the last runs of a replay DAG, without their errors; None where there is no such DAG."""
    query = select(DagModel.is_paused, DagModel.max_active_runs).where(DagModel.dag_id == dag_id, ~DagModel.is_stale)
    dag = session.execute(query).first()
    if dag is None:
        return None
    newest = select(*_COLUMNS).where(DagRun.dag_id == dag_id).order_by(DagRun.run_after.desc()).limit(_REPLAYS)
    runs = tuple(ReplayRun(RunState(*fields), _asked(conf)) for _, conf, *fields in session.execute(newest))
    return Replays(bool(dag.is_paused), dag.max_active_runs or 1, runs)


def _asked(conf: object) -> dict[str, Any]:
    """Return what a replay is to read, in small. Whoever triggers a run gives any JSON."""
    given = conf if isinstance(conf, dict) else {}
    texts = {name: clip(str(given[name]), 200) if given.get(name) else None for name in _ASKED_TEXTS}
    flags = {name: bool(given.get(name)) for name in _ASKED_FLAGS}
    ranges = given.get("ranges")
    return {**texts, **flags, "partitions": len(ranges) if isinstance(ranges, dict) else 0}


def dag_states(session: Session, dag_id: str | None = None) -> dict[str, DagState]:
    """Return the DAGs of all connectors, or of the one named, without their runs. DAGs that are gone are left out."""

    def has(*tags: str) -> Any:
        return exists().where(DagTag.dag_id == DagModel.dag_id, DagTag.name.in_(tags))

    columns = (DagModel.dag_id, DagModel.is_paused, DagModel.description, DagModel.next_dagrun_create_after)
    query = select(*columns, has(BROKEN)).where(~DagModel.is_stale, has(TAG), has(*SINK))
    if dag_id is not None:
        query = query.where(DagModel.dag_id == dag_id)
    return {
        name: DagState(name, bool(paused), bool(broken), description, next_run)
        for name, paused, description, next_run, broken in session.execute(query)
        if not name.endswith(REPLAY_SUFFIX)
    }


def last_runs(session: Session, dag_ids: Collection[str]) -> dict[str, RunState]:
    """Return the last run of each DAG that has one.

    A dry run or a diagnosis that has ended says nothing of the connector: the run before it counts, of the last few.
    Scheduled runs are found by their date and others among those without a date: each is one step in the index of DAG and
    date, however many runs there are.
    """
    ids = list(dag_ids)
    other = aliased(DagRun)
    newest = select(func.max(other.logical_date)).where(other.dag_id == DagModel.dag_id).scalar_subquery()
    dates = select(DagModel.dag_id, newest.label("date")).where(DagModel.dag_id.in_(ids)).subquery()
    undated = select(func.max(DagRun.id)).where(DagRun.dag_id.in_(ids), DagRun.logical_date.is_(None))
    query = union_all(
        select(*_COLUMNS).join(dates, (DagRun.dag_id == dates.c.dag_id) & (DagRun.logical_date == dates.c.date)),
        select(*_COLUMNS).where(DagRun.id.in_(undated.group_by(DagRun.dag_id))),
    )
    found: dict[str, RunState] = {}
    only_looked: set[str] = set()
    for dag_id, conf, *fields in session.execute(query):
        run = RunState(*fields)
        if dag_id not in found or found[dag_id].run_after < run.run_after:
            found[dag_id] = run
            only_looked -= {dag_id}
            if _only_looked(run, conf):
                only_looked.add(dag_id)
    return found if not only_looked else {**found, **_before_looks(session, only_looked)}


def failing_runs(session: Session, runs: Mapping[str, RunState]) -> dict[str, Failing]:
    """Return the DAGs whose last runs that ended have failed, of those whose last run, as given, failed or is active."""
    asked = [dag_id for dag_id, run in runs.items() if run.state != "success"]
    found: dict[str, Failing] = {}
    for dag_id, (some, has_older) in _newest_runs(session, asked).items():
        ended = [run for run in some if run.ended is not None or run.state in _ENDED]
        failed = list(takewhile(lambda run: run.state == "failed", ended))
        if failed:
            first = failed[-1]
            is_longer = len(failed) == len(ended) and has_older
            found[dag_id] = Failing(first.ended or first.run_after, len(failed), failed[0].run_id, is_longer)
    return found


def _before_looks(session: Session, dag_ids: Collection[str]) -> dict[str, RunState]:
    """Return the newest run of each DAG that is no dry run or diagnosis, of its last few."""
    return {dag_id: runs[0] for dag_id, (runs, _) in _newest_runs(session, dag_ids).items()}


def _newest_runs(session: Session, dag_ids: Collection[str]) -> dict[str, tuple[list[RunState], bool]]:
    """Return the last few runs of each DAG, the newest first, without dry runs and diagnoses that have ended.

    With them goes whether there may be older ones.
    """
    found: dict[str, list[RunState]] = {}
    looked_at: Counter[str] = Counter()
    ids = list(dag_ids)
    for start in range(0, len(ids), _TOGETHER):
        parts = [
            select(*_COLUMNS).where(DagRun.dag_id == dag_id).order_by(DagRun.run_after.desc()).limit(_FEW).subquery()
            for dag_id in ids[start : start + _TOGETHER]
        ]
        for dag_id, conf, *fields in session.execute(union_all(*(select(part) for part in parts))):
            run = RunState(*fields)
            looked_at[dag_id] += 1
            if not _only_looked(run, conf):
                found.setdefault(dag_id, []).append(run)
    return {
        dag_id: (sorted(runs, key=lambda one: one.run_after, reverse=True), looked_at[dag_id] >= _FEW)
        for dag_id, runs in found.items()
    }


def _only_looked(run: RunState, conf: object) -> bool:
    """Whether a run has ended that read and wrote nothing by what it was asked."""
    return run.ended is not None and isinstance(conf, dict) and any(conf.get(name) for name in _LOOKS)


def _text(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value
