"""One Airflow DAG per connector that reads again what was read before."""

from pathlib import Path

from floe import connector_dags

# all at once: a connector may have the name of something used here
globals().update(connector_dags(Path(__file__).parent / "connectors", ["replay"]))
