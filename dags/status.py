"""One Airflow DAG that looks up where all connectors are."""

from pathlib import Path

from floe.operators.dags.status_dag import status_dag

dag = status_dag(Path(__file__).parent / "connectors")
