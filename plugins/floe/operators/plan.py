"""The plan task: freeze what this run reads, or end the run when there is nothing new."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import DownstreamTasksSkipped

from floe.config import Connector, KeyClass
from floe.config.stored.stored_connector import DELETED, RUNNING, STATE, WANTED
from floe.crash_points import CrashPoint, reach
from floe.exceptions import with_code
from floe.operators import task_context
from floe.operators.connections import connection_fields, kafka_settings, resolved
from floe.operators.dags.assets import alias_of, raise_kept
from floe.operators.dags.links import ConnectorLink
from floe.operators.exceptions import ConnectionMissing
from floe.operators.failures import floe_task
from floe.operators.run_params import check_alone, params_of
from floe.operators.status import store
from floe.operators.stored_plan import RunPlan, deployment_key, opened, sealed, warn_without_key

if TYPE_CHECKING:
    from airflow.sdk import Context

    from floe.doctor.check import Part
    from floe.kafka.settings import KafkaSettings
    from floe.model.plan import Plan
    from floe.status.connector_status import ConnectorStatus


STORE_KEY = "plan"

log = logging.getLogger(__name__)


class PlanOperator(BaseOperator):
    """Plan once per run. The plan is kept in the task state store: a retry and a cleared run see the same one."""

    operator_extra_links = (ConnectorLink(),)

    def __init__(self, *, connector: Connector, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._connector = connector

    @floe_task
    def execute(self, context: Context) -> dict[str, Any]:
        """Return the plan as JSON; skip the rest of the run when there is nothing to read, or on a dry run."""
        from floe.kafka.access import left_out
        from floe.kafka.transactions import writer_of_positions
        from floe.model.decisions import Decisions
        from floe.planning.live_plan import draft_plan, open_plan
        from floe.status.reports import preview_json

        params = params_of(context)
        check_alone(params)
        connector = resolved(task_context.with_params(self._connector, params, KeyClass.LIVE))
        settings = kafka_settings(connector)
        if params.get("diagnose"):
            diagnose(connector, settings, context)
            raise rest_skipped()
        connector = task_context.with_topics(connector, settings)
        decisions, most = Decisions.of(params), params.get("max_records")
        if params.get("return_to_connect"):
            self._hand_back(connector, settings)
            raise rest_skipped()
        if params.get("dry_run"):
            deployment = deployment_key()
            plan = draft_plan(connector, settings, most, dry_run=True, decisions=decisions, deployment=deployment)
            self._show(plan, connector, settings)
            context["ti"].xcom_push(key="return_value", value=preview_json(plan))
            self.log.info("dry run: nothing was written, no position was moved")
            raise rest_skipped()
        stored, producer = self._frozen(context), None
        if stored is None:
            refuse_to_begin(context)
            producer = writer_of_positions(connector, settings)  # it connects while the plan is made
            if params.get("takeover"):
                self._take_over(connector, settings)
            plan = draft_plan(connector, settings, most, decisions=decisions, deployment=deployment_key())
            stored = self._freeze(context, plan, connector)
        plan, connector, key, fields = stored
        settings = kafka_settings(connector)
        status = self._show(plan, connector, settings)
        work_left = open_plan(plan, connector, settings, key, producer)
        if not plan.slices and plan.left_out:
            raise left_out(plan.left_out, settings.source, settings.origin)
        events = context["outlet_events"]
        if task_context.tried("Events of assets", lambda: raise_kept(events, self._connector), "raised"):
            self.outlets = [alias_of(self._connector)]
        if not plan.slices:
            context["ti"].xcom_push(key="return_value", value=fields)
            self.log.info("nothing new: no Spark job is started")
            store.keep(connector, status)
            raise rest_skipped()
        if not work_left:
            self.log.info("plan %s is already committed; write and commit have nothing to do", plan.plan_id)
        return fields

    def _take_over(self, connector: Connector, settings: KafkaSettings) -> None:
        from floe.takeover.take_over import take_over

        report = take_over(connector, settings)
        if report.already:
            self.log.info("nothing to take over: floe wrote all positions")
        for taken in report.tables:
            self.log.info("taken over: %s", taken)

    def _hand_back(self, connector: Connector, settings: KafkaSettings) -> None:
        from floe.takeover.hand_back import hand_back

        report = hand_back(connector, settings)
        for table, snapshot_id in report.tables.items():
            self.log.info("returned to Kafka Connect: table %s, snapshot %s", table, snapshot_id)
        self.log.info("now: %s", report.next_step)

    def _frozen(self, context: Context) -> RunPlan | None:
        """Return the plan that this run made before; None for the first try. Raises SealBroken."""
        warn_without_key()
        fields = context["task_state_store"].get(STORE_KEY)
        if fields is None:
            return None
        stored = opened(fields, context, self._connector)
        self.log.info("plan %s was made before by this run and is used again", stored.plan.plan_id)
        return stored

    def _freeze(self, context: Context, plan: Plan, connector: Connector) -> RunPlan:
        """Seal a new plan and store it; from here on the run has no other."""
        from airflow.sdk.execution_time.context import NEVER_EXPIRE

        stored = sealed(plan, connector, context)
        reach(CrashPoint.PLAN_FREEZE)
        context["task_state_store"].set(STORE_KEY, stored.fields, retention=NEVER_EXPIRE)
        reach(CrashPoint.PLAN_FROZEN)
        return stored

    def _show(self, plan: Plan, connector: Connector, settings: KafkaSettings) -> ConnectorStatus | None:
        """Log what the run reads, and how far behind the connector is; a replay moves no offsets, so it has no lag.

        Return the status that was looked up for it.
        """
        from floe.status.reports import plan_lines

        status = task_context.look_up(connector, settings) if plan.positions else None
        task_context.say(plan_lines(plan, status))
        return status


def refuse_to_begin(context: Context) -> None:
    """Skip the run of a connector that REST has paused, stopped or deleted: its DAG is paused when no run is active.

    A run that a user triggered goes on, but for that of a connector that is to be deleted.
    """
    from airflow.sdk import Variable

    mark = Variable.get(STATE + context["dag"].dag_id, default=None) or ""
    wanted = str(mark).removeprefix(WANTED)
    is_scheduled = context["dag_run"].run_type == "scheduled"  # of the Task SDK, whose text is the member's name
    if wanted != mark and (wanted == DELETED or (wanted != RUNNING and is_scheduled)):
        log.info("the connector is to be %s, by REST: this run reads nothing, and ends", wanted)
        raise rest_skipped()


def rest_skipped() -> DownstreamTasksSkipped:
    """Skip the other tasks directly: their trigger rules would let the commit run."""
    return DownstreamTasksSkipped(tasks=[task_context.WRITE_TASK, task_context.COMMIT_TASK])  # type: ignore[no-untyped-call]


# The diagnosis of a connector, asked for by a run's parameter: a line of the log for each finding, and what to do.


def diagnose(connector: Connector, settings: KafkaSettings, context: Context) -> None:
    """Check all that a connector needs, log the findings, and leave them as the task's ``return_value``.

    Probes are written and removed: an aborted transaction on the control topic, a table, a file. No record is read.
    Nothing is raised for what is wrong: the findings say it.
    """
    from floe.doctor import diagnosis
    from floe.doctor.check import Level

    spark, unusable = None, dict["Part", str]()
    try:
        spark = connection_fields(connector.connections.spark, "floe.spark.conn-id")
    except ConnectionMissing as error:
        unusable["spark"] = with_code(str(error), error.code)
    levels = {Level.PROBLEM: logging.ERROR, Level.WARNING: logging.WARNING}
    found: list[dict[str, str]] = []
    problems = 0
    for finding in diagnosis.diagnose(connector, settings, write=True, spark=spark, unusable=unusable):
        remedy = f": {finding.remedy}" if finding.remedy else ""
        mark = "" if finding.level is Level.OK else f"{finding.level.value}: "
        log.log(levels.get(finding.level, logging.INFO), "%s", f"{finding.name}: {mark}{finding.text}{remedy}")
        found.append(finding.to_json())
        problems += finding.is_problem
    log.info("diagnosis: %s problems in %s findings; nothing was read or committed", problems, len(found))
    result: dict[str, Any] = {"problems": problems, "findings": found}
    context["ti"].xcom_push(key="return_value", value=result)
