"""One Airflow DAG per connector that reads again what was read before; broken connectors have none."""

from pathlib import Path

from airflow.sdk import get_parsing_context

from floe.config import connectors_folder, load_connectors
from floe.operators.replay import replay_dag, replay_dag_id

# a task parses this file again, for its own DAG only
wanted = get_parsing_context().dag_id

# all at once: a connector may have the name of something that this file still uses
globals().update(
    {
        replay_dag_id(file.name): replay_dag(file.connector)
        for file in load_connectors(connectors_folder(Path(__file__).parent / "connectors"))
        if file.connector is not None and wanted in (None, replay_dag_id(file.name))
    }
)
