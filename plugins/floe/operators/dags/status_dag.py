"""The DAG ``floe.status``: every minute, the status of all connectors into Airflow's variables."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG

from floe.config.names import STATUS_DAG
from floe.operators import task_context
from floe.operators.failures import say_failure
from floe.operators.status.collector import StatusOperator

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
