"""One Airflow DAG per connector made by REST: plan >> write >> commit. Those of connector files are in sink.py."""

from pathlib import Path

from floe import connector_dags

# all at once: a connector may have the name of something used here
globals().update(connector_dags(Path(__file__).parent / "connectors", ["rest-sink"]))
