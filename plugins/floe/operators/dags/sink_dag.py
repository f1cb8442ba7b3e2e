"""The sink DAG of a connector: plan >> write >> commit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Asset, AssetAlias, BaseOperator
from airflow.sdk.definitions.retry_policy import ExceptionRetryPolicy, RetryAction, RetryRule

from floe.config import Connector
from floe.config.names import REPLAY_SUFFIX
from floe.config.sections.dag import PLAIN, DagSettings
from floe.exceptions import Retryable, Terminal
from floe.operators import task_context
from floe.operators.callbacks import of_dag
from floe.operators.commit import CommitOperator, keep_committed
from floe.operators.dags.assets import outlets_of
from floe.operators.dags.forms import give_form, markdown, readable, sink_form
from floe.operators.dags.links import dag_link, page_link
from floe.operators.dags.schedule import airflow_schedule, shown_schedule
from floe.operators.documentation import markdown_link
from floe.operators.failures import say_failure
from floe.operators.plan import PlanOperator
from floe.operators.write import WriteFilesOperator

COMMIT_RETRIES = 5
"""With doubled delays about five minutes, beyond the retry time of each try: what was written is worth waiting for."""

_SHOWN_CHARACTERS = 500
_SHOWN_WARNINGS = 20


def retry_policy() -> ExceptionRetryPolicy:
    """Retry what may pass; fail at once on what needs manual action."""
    return ExceptionRetryPolicy(
        rules=[
            RetryRule(exception=Terminal, action=RetryAction.FAIL, reason="needs a change"),
            RetryRule(exception=Retryable, action=RetryAction.RETRY, reason="may pass"),
        ]
    )


def default_args(settings: DagSettings = PLAIN) -> dict[str, Any]:
    """Return what all tasks have in common."""
    places = {"pool": settings.pool, "queue": settings.queue}
    return {
        "owner": settings.owner,
        "retries": settings.retries,
        "retry_delay": timedelta(milliseconds=settings.retry_delay_ms),
        "retry_policy": retry_policy(),
        "priority_weight": settings.priority_weight,
        # where tasks of many connectors wait for few slots: a commit goes before writes, and both before new plans
        "weight_rule": "upstream",
        "execution_timeout": _time(settings.task_timeout_ms),
        "on_failure_callback": say_failure,
        "on_retry_callback": say_failure,
        **{name: value for name, value in places.items() if value is not None},
    }


def set_access(dag: DAG, settings: DagSettings) -> None:
    """Say what roles may do with a DAG, and with its runs, as Airflow's FAB auth manager reads it.

    Not by the DAG's constructor: its parameter warns on each parse of what Airflow 4 may take away.
    """
    access: dict[str, dict[str, Collection[str]]] = {}
    for role, permissions in settings.access:
        access[role] = {"DAGs": set(permissions) - {"can_trigger"}}
        if "can_trigger" in permissions:
            access[role]["DAG Runs"] = {"can_create"}
    dag.access_control = access or None


def chain(connector: Connector, plan: BaseOperator, outlets: Sequence[Asset | AssetAlias]) -> None:
    """Put write and commit behind a plan; ``outlets``: what the commit is said to write."""
    write = WriteFilesOperator(task_id=task_context.WRITE_TASK, connector=connector)
    commit = CommitOperator(
        task_id=task_context.COMMIT_TASK,
        connector=connector,
        trigger_rule="all_done_min_one_success",
        retries=max(COMMIT_RETRIES, connector.dag.retries),
        retry_exponential_backoff=True,
        outlets=outlets,
        on_failure_callback=[say_failure, keep_committed],
    )
    plan >> write >> commit
    # also directly, so that a failed writer does not keep the commit from what others announced
    plan >> commit


def sink_dag(connector: Connector) -> DAG:
    """Build the DAG of a connector: plan >> write >> commit, every commit interval or by its schedule."""
    with DAG(
        dag_id=connector.name,
        description=readable(f"{connector.source} into {connector.destination}")[:500],
        schedule=airflow_schedule(connector.schedule, connector.committing.interval_ms, connector.name),
        start_date=task_context.BEGINNING,
        catchup=False,
        max_active_runs=1,
        allowed_run_types=task_context.RUN_TYPES,  # type: ignore[arg-type]
        dagrun_timeout=_time(connector.dag.run_timeout_ms),
        on_failure_callback=of_dag(connector.dag.on_failure),
        on_success_callback=of_dag(connector.dag.on_success),
        is_paused_upon_creation=connector.dag.is_paused,
        default_args=default_args(connector.dag),
        tags=["floe", "sink", *connector.dag.tags],
        doc_md=_doc(connector),
    ) as dag:
        chain(connector, PlanOperator(task_id=task_context.PLAN_TASK, connector=connector), outlets_of(connector))
    give_form(dag, sink_form(connector))
    set_access(dag, connector.dag)
    return dag


def help_text() -> str:
    """Say in a DAG's docs where errors and terms are explained."""
    codes, terms = markdown_link("troubleshooting.md"), markdown_link("glossary.md")
    return f"Error codes are explained in floe's {codes}, terms in {terms}."


def shown(text: str) -> str:
    """Write what a connector reads or writes for a DAG's docs."""
    return markdown(text[:_SHOWN_CHARACTERS])


def _time(milliseconds: int | None) -> timedelta | None:
    return None if milliseconds is None else timedelta(milliseconds=milliseconds)


def _doc(connector: Connector) -> str:
    lines = [
        f"**{shown(connector.source)}** into **{shown(connector.destination)}** "
        f"{shown(shown_schedule(connector.schedule, connector.committing.interval_ms))}, exactly once.",
        "",
        "* `plan` chooses the offsets that this run reads.",
        "* `write` reads them and writes data files, in Spark, and announces them in the control topic "
        f"`{connector.control_topic}`.",
        "* `commit` adds one snapshot to each table, commits the offsets in Kafka, and raises an event of each table's "
        "asset.",
        "",
        f"Clearing and running again is always safe. The consumer group is `{connector.group_id}`.",
        "",
        "Airflow's own backfill is refused: a run reads from the committed offsets on, whatever its date. To read offsets or "
        f"times again, trigger {dag_link(connector.name + REPLAY_SUFFIX)}.",
        "",
        f"{page_link(connector.name)}. {help_text()}",
        *(f"\n⚠ {markdown(warning)}" for warning in connector.warnings[:_SHOWN_WARNINGS]),
        "",  # Airflow takes a text that ends in .md for a path
    ]
    return "\n".join(lines)
