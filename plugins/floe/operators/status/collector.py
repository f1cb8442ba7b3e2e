"""The task of ``floe.status``: all connectors side by side, each by itself, in a bounded time.

They are asked in a child process: a native client that aborts is one connector's problem.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, BaseOperator

from floe.config.names import STATUS_DAG
from floe.config.secrets.mask import clip, hide, learn_pairs, learned
from floe.operators import task_context
from floe.operators.connections import kafka_settings, resolved
from floe.operators.failures import floe_task, say_failure
from floe.operators.status import store
from floe.operators.status.failing_runs import failing
from floe.operators.status.late_tables import LateTables
from floe.side_by_side import apart

if TYPE_CHECKING:
    from airflow.sdk import Context

    from floe.config import ConfigError, Connector, ConnectorFile
    from floe.status.record import StatusRecord


log = logging.getLogger(__name__)

THREADS = 8
"""Connectors that are asked at once."""

SECONDS = 40.0
"""For all of them together. Who has not answered by then is asked again by the next run."""

MAX_SHOWN = 20

Job = Callable[[], "StatusRecord"]


class StatusOperator(BaseOperator):
    """Look up all connectors, and keep a record of each; never fails because of one of them.

    ``default_folder``: of the connectors, as for ``sink_dags``.
    """

    def __init__(self, *, default_folder: Path, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._default_folder = default_folder

    @floe_task
    def execute(self, context: Context) -> dict[str, Any]:
        """Return how many records were kept, and of which connectors something is wrong or runs fail, in small.

        Raises TablesLate, after all that, where tables became late.
        """
        from floe.operators.dags.connector_dags import connector_files

        until = time.monotonic() + SECONDS
        files = connector_files(self._default_folder)
        formers = {file.name: store.load(file.name) for file in files}
        jobs = {file.name: _job(file, formers[file.name]) for file in _in_order(files, formers)}
        connectors = {file.name: file.connector for file in files}
        late = LateTables(context)
        kept: dict[str, bool] = {}
        wrong: dict[str, str] = {}
        crashed = partial(_crashed, connectors=connectors, formers=formers)
        for name, record in apart(jobs, THREADS, until, crashed, partial(learn_pairs, learned()), hide):
            kept[name] = _keep(record, connectors[name], wrong, late)
        for name in jobs.keys() - kept.keys():
            kept[name] = _keep(_unanswered(name, formers[name]), connectors[name], wrong, late)
        store.remove_others(kept.keys())
        fail = failing(context, sorted(name for name, connector in connectors.items() if connector is not None))
        for name, problem in sorted([*wrong.items(), *fail.items()]):
            self.log.warning("%s: %s", name, problem)
        self.log.info("status of %s connectors kept", sum(kept.values()))
        late.alert()
        shown = dict(sorted(wrong.items())[:MAX_SHOWN])
        return {
            "kept": sum(kept.values()),
            "wrong": shown,
            "more": len(wrong) - len(shown),
            "failing": dict(sorted(fail.items())[:MAX_SHOWN]),
            "more_failing": max(0, len(fail) - MAX_SHOWN),
        }


def _keep(record: StatusRecord, connector: Connector | None, wrong: dict[str, str], late: LateTables) -> bool:
    """Keep a record, over what a run may have kept since this one was begun; note what is wrong."""
    from floe.status.record_reader import rebased

    if record.status.problems:
        wrong[record.status.name] = clip(record.status.problems[0], 200)
    name, dead_letters = record.status.name, None if connector is None else connector.errors.table
    latest = store.load(name)
    is_kept = store.save(late.follow(rebased(record, latest, dead_letters), record, latest, connector))
    if not is_kept:
        late.not_kept(name)
    return is_kept


def _in_order(files: Iterable[ConnectorFile], formers: dict[str, StatusRecord | None]) -> list[ConnectorFile]:
    """Put those last that did not answer before: they keep a thread as long as they may."""

    def was_wrong(file: ConnectorFile) -> bool:
        former = formers[file.name]
        return former is not None and bool(former.status.problems)

    return sorted(files, key=was_wrong)


def _job(file: ConnectorFile, former: StatusRecord | None) -> Job:
    """Return what looks up a connector. What Airflow knows of it is looked up here, before there are threads."""
    from floe.status.record_reader import collect_record, unknown_record
    from floe.status.tables import problem_of

    group_id = "" if former is None else former.status.group_id
    if file.connector is None:
        return partial(unknown_record, file.name, group_id, _problems(file), former)
    try:
        connector = resolved(file.connector)
        settings = kafka_settings(connector)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is this connector's, and its record says so
        return partial(unknown_record, file.name, file.connector.group_id, [problem_of(error)], former)
    return partial(collect_record, connector, settings, former)


def _problems(file: ConnectorFile) -> list[str]:
    error: ConfigError | None = file.error
    found = [] if error is None else [str(problem) for problem in error.problems]
    return [f"{file.path.name} is broken: {problem}" for problem in found] or [f"{file.path.name} is broken"]


def _crashed(
    name: str,
    how: str,
    said: str,
    *,
    connectors: Mapping[str, Connector | None],
    formers: Mapping[str, StatusRecord | None],
) -> StatusRecord:
    """Return the record of a connector whose look-up ended its process."""
    from floe.status.record_reader import unknown_record

    log.error(
        "%s: the process that asked its brokers and its catalog ended %s. It said last:\n%s", name, how, hide(said)
    )
    connector = connectors[name]
    problem = (
        f"asking brokers and catalog ended the process {how}, as a library that aborts does: see the log of floe.status, and "
        "check the addresses and locations of this connector"
    )
    return unknown_record(name, "" if connector is None else connector.group_id, [problem], formers[name])


def _unanswered(name: str, former: StatusRecord | None) -> StatusRecord:
    from floe.status.record_reader import unknown_record

    problem = f"brokers or catalog did not answer within {SECONDS:g} s; the next run of floe.status asks again"
    return unknown_record(name, "" if former is None else former.status.group_id, [problem], former)


# The DAG ``floe.status``: every minute, the status of all connectors into Airflow's variables.


EVERY = timedelta(minutes=1)
TIMEOUT = timedelta(minutes=3)
"""Beyond the 40 seconds that the task gives its connectors: it then keeps a record of each by a call of Airflow's API, which
waits while the database is busy. A run that is late is better than none, and no other begins beside it.
"""

_DOC = """
Looks up where each connector is, every minute: lag, tables and their last commits, dead letters, the control topic's last
events. A record of each is kept as the Airflow variable `floe.status.<connector>`. Page, REST API and metrics show these
records and ask neither Kafka nor a catalog. It writes nothing else. A run that finds a table newly late, by
`floe.freshness.max-ms`, fails in the end; the next one does not. While it is paused, runs keep what they know themselves.
"""


def status_dag(default_folder: Path) -> DAG:
    """Build the DAG; ``default_folder`` has the connectors, unless ``FLOE_CONNECTORS_DIR`` names another folder."""
    with DAG(
        dag_id=STATUS_DAG,
        description="The status of all connectors, for page, REST API and metrics",
        schedule=EVERY,
        start_date=task_context.BEGINNING,
        catchup=False,
        max_active_runs=1,
        allowed_run_types=task_context.RUN_TYPES,  # type: ignore[arg-type]
        is_paused_upon_creation=False,
        default_args={"owner": "floe", "retries": 0, "on_failure_callback": say_failure},
        tags=["floe"],
        doc_md=_DOC,
    ) as dag:
        StatusOperator(task_id="collect", default_folder=default_folder, execution_timeout=TIMEOUT)
    return dag
