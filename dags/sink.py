"""One Airflow DAG per connector: plan >> write >> commit. A broken connector's runs fail with what is wrong with its file."""

from pathlib import Path

from airflow.sdk import get_parsing_context

from floe.operators.dags.connector_dags import sink_dags

# a task parses this file again, for its own DAG only; all at once, as a connector may have the name of something used here
globals().update(sink_dags(Path(__file__).parent / "connectors", get_parsing_context().dag_id))
