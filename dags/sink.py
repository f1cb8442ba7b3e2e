"""One Airflow DAG per connector: plan >> write >> commit. A broken connector's runs fail with what is wrong with its file."""

from pathlib import Path

from floe import connector_dags

# all at once: a connector may have the name of something used here
globals().update(connector_dags(Path(__file__).parent / "connectors", ["sink"]))
