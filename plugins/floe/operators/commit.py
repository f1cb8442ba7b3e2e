"""The commit task: one snapshot per table, then the positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from floe.config import Connector
from floe.operators import task_context
from floe.operators.connections import kafka_settings
from floe.operators.dags.assets import alias_of, keep_events, raise_events
from floe.operators.dags.links import ConnectorLink, ReplayLink
from floe.operators.failures import failure_of, floe_task
from floe.operators.run_params import params_of
from floe.operators.status import run_stats, store
from floe.operators.status.lineage import Lineage
from floe.operators.stored_plan import announced_slices, pulled

if TYPE_CHECKING:
    from airflow.sdk import Context

    from floe.commit.run_commit import CommitReport
    from floe.kafka.settings import KafkaSettings
    from floe.model.plan import Plan


class CommitOperator(BaseOperator):
    """Commit what the run's slices announced. It also runs when a writer failed, and fails at its end if one did.

    A task that succeeds raises an event of its asset for each snapshot. Airflow takes none from a task that fails: its events
    are kept for the plan of the next run.
    """

    operator_extra_links = (ConnectorLink(), ReplayLink())

    committed: Plan | None = None
    """What this task committed, once it has; for its links."""

    _so_far: tuple[Plan, CommitReport] | None = None

    lineage: Lineage | None = None
    """What this task read and wrote, also where it failed after some of its commits."""

    def __init__(self, *, connector: Connector, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._connector = connector

    def prepare_for_execution(self) -> CommitOperator:
        """Return the operator that runs: without outlets, so that Airflow does not fail it for what another DAG says of them.

        ``floe.operators.dags.assets`` has the whole of it.
        """
        made: CommitOperator = super().prepare_for_execution()
        made.outlets = []
        return made

    @floe_task
    def execute(self, context: Context) -> dict[str, Any]:
        """Return what was committed and how far behind the connector is: sums, and the largest of many."""
        from floe.commit.run_commit import Committer
        from floe.status.reports import RunReport
        from floe.tables.exceptions import CommitError

        plan, connector, key, _ = pulled(context, self._connector)
        announced = announced_slices(context, plan)
        settings = kafka_settings(connector)
        failure = failure_of(context, task_context.WRITE_TASK)
        try:
            params = params_of(context) if plan.is_replay else {}
            committer = Committer.open(plan, connector, settings, key)
            try:
                report = committer.commit(announced, failure, params)
            finally:
                so_far = committer.so_far
                self._so_far = plan, so_far
                self.lineage = task_context.tried(
                    "Lineage", lambda: Lineage.of(plan, so_far, connector, settings), "made"
                )
        except CommitError:
            self._say_lag(plan, connector, settings)
            raise
        reasons = task_context.reasons_of(connector, plan, report)
        status = task_context.look_up(connector, settings) if plan.positions else None
        message = RunReport(plan, report, reasons, status)
        task_context.say(message.lines())
        run_stats.count_commit(connector.name, report, reasons, plan.dead_letters)
        store.keep(connector, status, plan, report)
        self.committed = plan
        self.outlets = [alias_of(self._connector)]  # events of an alias count if the task has it
        events = context["outlet_events"]
        task_context.tried("Events of assets", lambda: raise_events(events, self._connector, plan, report), "raised")
        return message.to_json()

    def get_openlineage_facets_on_complete(self, task_instance: object) -> Any:
        """Return topics and tables, for Airflow's OpenLineage provider, which asks after a failure, too."""
        return None if self.lineage is None else self.lineage.to_openlineage()

    def keep_committed(self) -> None:
        """Keep the events of what was committed before the task failed."""
        if self._so_far is not None:
            keep_events(self._connector, *self._so_far)

    def _say_lag(self, plan: Plan, connector: Connector, settings: KafkaSettings) -> None:
        """Log and keep the lag of a failed run, before its error."""
        from floe.status.summary import info, lag_lines

        status = task_context.look_up(connector, settings) if plan.positions else None
        if status is not None:
            task_context.say(map(info, lag_lines(status)))
            store.keep(connector, status)


def keep_committed(context: Context) -> None:
    """Keep the events of a commit that has failed. For Airflow to call: not before a retry, which raises them."""
    operator = context["task"]
    if isinstance(operator, CommitOperator):
        operator.keep_committed()
