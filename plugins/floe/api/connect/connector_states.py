"""States of connectors and their tasks as Connect names them, from what Airflow knows of their DAGs."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from sqlalchemy.orm import Session

import floe
from floe.api.airflow_health import airflow_health
from floe.api.connect.connector_store import KnownConnector, marks
from floe.api.dag_states import DagState, RunState, dag_states, last_runs
from floe.api.summaries import failures
from floe.config.secrets.mask import clip
from floe.config.stored.stored_connector import PAUSED, RUNNING, STOPPED, WANTED
from floe.status.airflow_health import AirflowHealth

FAILED: Final = "FAILED"
UNASSIGNED: Final = "UNASSIGNED"
TYPE: Final = "sink"

_SHOWN: Final = 4000


@dataclass(frozen=True)
class States:
    """What the database has of some connectors, read in a few queries for all of them."""

    dags: Mapping[str, DagState]
    runs: Mapping[str, RunState]
    marks: Mapping[str, str]
    """What REST set, or wants."""
    traces: Mapping[str, str] = field(default_factory=dict)
    """Of the last runs that failed, by connector."""
    health: AirflowHealth = field(default_factory=AirflowHealth)

    @classmethod
    def read(cls, session: Session, names: Collection[str]) -> States:
        """Read the states of connectors."""
        only = next(iter(names)) if len(names) == 1 else None
        dags = {name: dag for name, dag in dag_states(session, only).items() if name in names}
        runs = last_runs(session, dags)
        failed = {name: run.run_id for name, run in runs.items() if run.state == "failed"}
        found = {name: row.text for name, row in marks(session, only).items()}
        return cls(dags, runs, found, traces(session, failed), airflow_health())

    def of(self, known: KnownConnector) -> tuple[str, str | None, str, str | None]:
        """Return the state of a connector, its trace, the state of its tasks, and theirs."""
        dag = self.dags.get(known.name)
        if known.connector is None:
            problems = () if known.file.error is None else known.file.error.first_problems()
            return FAILED, clip("\n".join(problems), _SHOWN), FAILED, None
        mark = self.marks.get(known.name, "")
        if (wanted := mark.removeprefix(WANTED)) != mark and wanted in (PAUSED, STOPPED):
            return wanted, None, wanted, None
        is_paused = known.file.is_paused is True if dag is None else dag.is_paused
        if dag is None and (not is_paused or mark == WANTED + RUNNING):
            return UNASSIGNED, self._dead("dag_processor"), UNASSIGNED, None
        if is_paused and mark != WANTED + RUNNING:
            state = STOPPED if mark == STOPPED else PAUSED
            return state, None, state, None
        # as a worker's connectors are when the worker is gone: nothing is there that runs them
        dead = self._dead("scheduler")
        state = RUNNING if dead is None else UNASSIGNED
        if (run := self.failed_run(known)) is not None:
            return state, dead, FAILED, self.traces.get(known.name, _failure(known.name, run.run_id))
        return state, dead, state, dead

    def _dead(self, part: str) -> str | None:
        """Say that a part of Airflow's is not alive; None if it is."""
        found = self.health.dead_part(part)
        return None if found is None else found.text

    def failed_run(self, known: KnownConnector) -> RunState | None:
        """Return the last run if it failed; None where it was that of a connector that had this name before."""
        run = self.runs.get(known.name)
        if run is None or run.state != "failed":
            return None
        made = None if known.stored is None else known.stored.made
        ended = run.ended or run.run_after
        return None if made is not None and ended < made else run

    def is_stopped(self, known: KnownConnector) -> bool:
        """Whether offsets of the connector may be changed."""
        return self.of(known)[0] == STOPPED


def tasks_of(known: KnownConnector, states: States) -> int:
    """Return how many tasks Connect would have: as many as tasks.max, none of a connector that is stopped or broken.

    One that was made paused has none before Airflow knows it.
    """
    is_idle = states.of(known)[0] == STOPPED or (known.name not in states.dags and known.file.is_paused is True)
    return 0 if known.connector is None or is_idle else known.connector.reading.tasks


def status_of(known: KnownConnector, states: States) -> dict[str, Any]:
    """Return the answer of ``/connectors/<name>/status``."""
    state, trace, task_state, task_trace = states.of(known)
    return {
        "name": known.name,
        "connector": _entry(state, trace),
        "tasks": [{"id": number, **_entry(task_state, task_trace)} for number in range(tasks_of(known, states))],
        "type": TYPE,
    }


@cache
def worker_id() -> str:
    """Name what runs connectors: Airflow, by the host of its API server."""
    return f"airflow:{socket.gethostname() or os.uname().nodename}"


def _entry(state: str, trace: str | None) -> dict[str, Any]:
    entry = {"state": state, "worker_id": worker_id(), "version": floe.__version__}
    return entry if trace is None else {**entry, "trace": trace}


def traces(session: Session, failed: Mapping[str, str]) -> dict[str, str]:
    """Return what the failed tasks of runs left; where one left nothing, which task it is and where its log is."""
    tasks = failures(session, failed)
    return {
        name: clip("\n".join(_line(name, run, task, error) for task, error in tasks.get(name, ())), _SHOWN)
        or _failure(name, run)
        for name, run in failed.items()
    }


def _failure(name: str, run: str) -> str:
    return f"run {run} of the DAG {name} failed"


def _line(name: str, run: str, task: str, error: str | None) -> str:
    return f"{task}: {error}" if error else f"{task}: see the log of this task in run {run} of the DAG {name}"
