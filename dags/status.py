"""One Airflow DAG that looks up where all connectors are."""

from pathlib import Path

from floe import connector_dags

# all at once: a connector may have the name of something used here
globals().update(connector_dags(Path(__file__).parent / "connectors", ["status"]))
