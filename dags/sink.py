"""One Airflow DAG per connector: plan >> write >> commit."""

from pathlib import Path

from airflow.sdk import get_parsing_context

from floe.config import connectors_folder, load_connectors
from floe.operators.sink import dag_of

# a task parses this file again, for its own DAG only
wanted = get_parsing_context().dag_id

# all at once: a connector may have the name of something that this file still uses
globals().update(
    {
        file.name: dag_of(file)
        for file in load_connectors(connectors_folder(Path(__file__).parent / "connectors"))
        if wanted in (None, file.name)
    }
)
