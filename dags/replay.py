"""One Airflow DAG per connector that reads again what was read before."""

from pathlib import Path

from airflow.sdk import get_parsing_context

from floe.operators.dags.connector_dags import replay_dags

# a task parses this file again, for its own DAG only; all at once, as a connector may have the name of something used here
globals().update(replay_dags(Path(__file__).parent / "connectors", get_parsing_context().dag_id))
