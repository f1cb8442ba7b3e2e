"""The commit task: one snapshot per table, then the positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from floe.config import Connector
from floe.operators import task_context
from floe.operators.failures import failure_of, floe_task
from floe.operators.stored_plan import announced_slices, pulled

if TYPE_CHECKING:
    from airflow.sdk import Context


class CommitOperator(BaseOperator):
    """Commit what the run's slices announced; runs also when a writer failed, and fails at its end if one did."""

    def __init__(self, *, connector: Connector, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._connector = connector

    @floe_task
    def execute(self, context: Context) -> dict[str, Any]:
        """Return what was committed, per table: snapshot id, rows, files."""
        from floe.commit.run_commit import Committer
        from floe.kafka.settings import KafkaSettings

        plan, connector, key, _ = pulled(context, self._connector)
        announced = announced_slices(context, plan)
        settings = KafkaSettings.of(connector, task_context.kafka_extra(connector))
        failure = failure_of(context, task_context.WRITE_TASK)
        report = Committer(plan, connector, settings, key).commit(announced, failure)
        return {
            "done_before": report.done,
            "commit_id": str(plan.commit_id),
            "tables": {
                table.share.table: {
                    "snapshot_id": str(table.snapshot_id) if table.snapshot_id is not None else None,
                    "rows": table.share.books.rows,
                    "files": table.share.file_count,
                    "committed_before": table.already,
                }
                for table in report.landed
            },
        }
