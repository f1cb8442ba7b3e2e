"""One Airflow DAG per connector made by REST: plan >> write >> commit. Those of connector files are in sink.py."""

from pathlib import Path

from airflow.sdk import get_parsing_context

from floe.operators.dags.connector_dags import rest_sink_dags

# a task parses this file again, for its own DAG only; all at once, as a connector may have the name of something used here
globals().update(rest_sink_dags(Path(__file__).parent / "connectors", get_parsing_context().dag_id))
