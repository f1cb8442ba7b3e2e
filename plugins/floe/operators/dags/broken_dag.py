"""The DAGs of a broken connector: they keep id and schedule, and every run fails with what is wrong with the file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from airflow.sdk import DAG, BaseOperator

from floe.config import ConfigError, ConnectorFile
from floe.operators import task_context
from floe.operators.dags import sink_dag
from floe.operators.dags.forms import markdown, readable
from floe.operators.dags.schedule import airflow_schedule
from floe.operators.exceptions import ConnectorBroken
from floe.operators.failures import floe_task

_MAX_LISTED = 50
_MAX_PROBLEMS = 20
_SHOWN_CHARACTERS = 500
"""Files, problems of each and characters of each problem in the import error."""


class BrokenConnector(BaseOperator):
    """Fails with what is wrong with a connector file. The configuration that was good before is not used."""

    def __init__(self, *, file: ConnectorFile, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._file = file

    @floe_task
    def execute(self, context: Any) -> None:
        """Raise the errors of the file, as a list."""
        problems = "".join(f"\n* {readable(problem)}" for problem in _error_of(self._file).first_problems())
        path = readable(str(self._file.path))
        msg = (
            f"The connector file {readable(self._file.path.name)!r} is broken:\n{problems}\n\nNo record was read and no "
            f"offset was committed. Correct {path}: the next run continues at the committed offsets."
        )
        raise ConnectorBroken(msg)


def broken_sink_dag(file: ConnectorFile) -> DAG:
    """Build the DAG in the place of a broken connector's: its id, its schedule, its tasks, of which the first fails.

    Airflow takes it for the same DAG, so it stays paused or not as it was; one that was never good begins paused.
    """
    return _dag(file, file.name, airflow_schedule(file.schedule, file.interval_ms, file.name), is_paused=True)


def broken_replay_dag(file: ConnectorFile, dag_id: str) -> DAG:
    """Build the DAG in the place of a broken connector's replay DAG: a run of it fails when it is triggered."""
    return _dag(file, dag_id, None, is_paused=False)


def import_error(files: Iterable[ConnectorFile]) -> str | None:
    """Describe all broken files with their problems, for one import error; None when there is none."""
    broken = [file for file in files if file.connector is None]
    if not broken:
        return None
    more = f"\n… and {len(broken) - _MAX_LISTED} more files" if len(broken) > _MAX_LISTED else ""
    listed = "".join(f"\n{_listed(file)}" for file in broken[:_MAX_LISTED])
    count = "1 connector file is" if len(broken) == 1 else f"{len(broken)} connector files are"
    return (
        f"{count} broken. Runs of these connectors fail until the files are corrected; all other connectors run."
        f"{listed}{more}\nSee {ConfigError.code}."
    )


def _dag(file: ConnectorFile, dag_id: str, schedule: Any, *, is_paused: bool) -> DAG:
    with DAG(
        dag_id=dag_id,
        dag_display_name=f"⚠ {dag_id}",
        description=f"⚠ {readable(file.path.name)} is broken"[:500],
        schedule=schedule,
        start_date=task_context.BEGINNING,
        catchup=False,
        max_active_runs=1,
        allowed_run_types=task_context.RUN_TYPES,  # type: ignore[arg-type]
        is_paused_upon_creation=is_paused,
        default_args=sink_dag.default_args(),
        tags=["floe", "broken"],
        doc_md=_doc(file),
    ) as dag:
        # the tasks of the connector's own DAG: a run that began before keeps them, and can be cleared once the file is good
        tasks = [
            BrokenConnector(task_id=name, file=file)
            for name in (task_context.PLAN_TASK, task_context.WRITE_TASK, task_context.COMMIT_TASK)
        ]
        tasks[0] >> tasks[1] >> tasks[2]
    return dag


def _error_of(file: ConnectorFile) -> ConfigError:
    return file.error or ConfigError("the file contains no connector").located(file.path)


def _listed(file: ConnectorFile) -> str:
    first = _error_of(file).first_problems(_MAX_PROBLEMS)
    problems = "".join(f"\n  - {readable(problem)[:_SHOWN_CHARACTERS]}" for problem in first)
    return f"{readable(str(file.path))} (DAG {file.name}):{problems}"


def _doc(file: ConnectorFile) -> str:
    problems: Sequence[str] = _error_of(file).first_problems()
    return "\n".join(
        [
            f"**{markdown(file.path.name)} is broken**, so every run of this connector fails and no record is read. "
            "Nothing is lost: no offset was committed, and the first run after the file is corrected continues at the "
            "committed offsets.",
            "",
            *(f"* {markdown(problem)}" for problem in problems),
            "",  # Airflow takes a text that ends in .md for a path
        ]
    )
