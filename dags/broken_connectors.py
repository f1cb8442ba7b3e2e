"""No Airflow DAG, but an import error that lists the broken connector files.

Airflow takes the DAGs of a file with an import error away: raised in a file of its own, it costs no connector its DAG.
"""

from pathlib import Path

from floe.operators.dags.connector_dags import check_connectors

check_connectors(Path(__file__).parent / "connectors")
