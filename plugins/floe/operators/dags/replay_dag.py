"""The replay DAG of a connector: read again what was read before, into tables that lack it or want it twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG

from floe.config import Connector, KeyClass
from floe.config.names import REPLAY_SUFFIX
from floe.operators import task_context
from floe.operators.callbacks import of_dag
from floe.operators.connections import kafka_settings, resolved
from floe.operators.dags import sink_dag
from floe.operators.dags.assets import alias_of
from floe.operators.dags.forms import give_form, readable, replay_form
from floe.operators.dags.links import dag_link, page_link
from floe.operators.failures import floe_task
from floe.operators.plan import PlanOperator, rest_skipped
from floe.operators.run_params import params_of

if TYPE_CHECKING:
    from airflow.sdk import Context

    from floe.planning.replay_plan import Replay

WHY_DRY = (
    ", as the run names no `ranges`, `from_time`, `to_time` or `dead_letters`. Give one of them, or `all` to replay "
    "everything shown above"
)


class PlanReplayOperator(PlanOperator):
    """Plan a replay once per run, from the trigger form; a retry and a cleared run see the same plan."""

    @floe_task
    def execute(self, context: Context) -> dict[str, Any]:
        """Return the plan as JSON; skip the rest of the run when all of it is contained already, or on a dry run."""
        from floe.planning.replay_plan import draft_replay, open_replay

        params = params_of(context)
        connector = resolved(task_context.with_params(self._connector, params, KeyClass.REPLAY))
        settings = kafka_settings(connector)
        connector = task_context.with_topics(connector, settings)
        is_dry = bool(params.get("dry_run"))
        stored = None if is_dry else self._frozen(context)
        if stored is None:
            replay = draft_replay(connector, settings, params, dry_run=is_dry)
            self._tell(replay)
            if replay.is_dry:
                context["ti"].xcom_push(key="return_value", value=replay.to_json())
                self.log.info("dry run: nothing was written%s", "" if is_dry else WHY_DRY)
                raise rest_skipped()
            stored = self._freeze(context, replay.plan, connector)
        plan, connector, key, fields = stored
        settings = kafka_settings(connector)
        self._show(plan, connector, settings)
        if not plan.slices:
            context["ti"].xcom_push(key="return_value", value=fields)
            none = (
                "no dead letter is open in the range"
                if params.get("dead_letters")
                else "the tables already contain all of it"
            )
            self.log.info("%s: there is nothing to write, no Spark job is started", none)
            raise rest_skipped()
        open_replay(plan, connector, settings, key)
        return fields

    def _tell(self, replay: Replay) -> None:
        """Log what the replay means for each table and partition."""
        from tabulate import tabulate

        request = replay.request
        if request.dead_letters:
            self.log.info("dead letters into branch %s, in records:", replay.branch or "-")
            head: tuple[str, ...] = ("table", "range", "open dead letters", "already rows", "left out")
            rows: list[tuple[str, ...]] = [
                (f.table or "(routed again)", str(f.range), str(f.dead_letters), str(f.recovered), f.left_out or "")
                for f in replay.dead_letters
            ]
        else:
            self.log.info("replay (%s) into branch %s, in offsets:", request.overlap.value, replay.branch)
            head = ("table", "range", "to read", "held already", "to write")
            rows = [
                (f.table, str(f.range), str(f.read), "not known" if f.held is None else str(f.held), str(f.write))
                for f in replay.forecasts
            ]
        for line in tabulate(rows, head, tablefmt="plain", disable_numparse=True).splitlines():
            self.log.info("  %s", line.rstrip())
        for removal in replay.removals:
            self.log.info("  %s rows are removed from table %s", removal, removal.table)


def replay_dag_id(connector: str) -> str:
    """Name the replay DAG of a connector; no connector may have such a name itself."""
    return connector + REPLAY_SUFFIX


def replay_dag(connector: Connector) -> DAG:
    """Build the replay DAG of a connector: plan >> write >> commit, only when it is triggered."""
    with DAG(
        dag_id=replay_dag_id(connector.name),
        description=readable(f"Read {connector.source} again, into {connector.destination}")[:500],
        schedule=None,
        start_date=task_context.BEGINNING,
        catchup=False,
        allowed_run_types=task_context.RUN_TYPES,  # type: ignore[arg-type]
        max_active_runs=connector.dag.max_active_replays,  # each has its own plan; the tables' ledgers keep them apart
        is_paused_upon_creation=False,
        on_failure_callback=of_dag(connector.dag.on_failure),
        on_success_callback=of_dag(connector.dag.on_success),
        default_args=sink_dag.default_args(connector.dag),
        tags=["floe", "replay", *connector.dag.tags],
        doc_md=_doc(connector),
    ) as dag:
        plan = PlanReplayOperator(task_id=task_context.PLAN_TASK, connector=connector)
        # the alias alone: Airflow materializes an asset by its one producer, the connector's DAG
        sink_dag.chain(connector, plan, [alias_of(connector)])
    give_form(dag, replay_form(connector))
    sink_dag.set_access(dag, connector.dag)
    return dag


def _doc(connector: Connector) -> str:
    return "\n".join(
        [
            f"Reads offsets or times of **{sink_dag.shown(connector.source)}** again that {dag_link(connector.name)} has "
            f"read before, into **{sink_dag.shown(connector.destination)}**, exactly once. It commits no offsets, so it may "
            f"run beside `{connector.name}` and beside other replays.",
            "",
            "* `skip` adds the rows that a table does not contain: triggering it twice adds nothing.",
            "* `replace` removes the rows of the range and writes them again; triggering it twice changes nothing more.",
            "* `append` adds all rows of the range again; triggering it twice adds them twice.",
            "* `dead_letters` reads only open dead letters; those that become rows are marked resolved.",
            "* Clearing a run and running it again is always safe: it keeps its plan and its identity.",
            "* `dry_run` prints what would be written.",
            "",
            f"{page_link(connector.name)}. {sink_dag.help_text()}",
            "",  # Airflow takes a text that ends in .md for a path
        ]
    )
