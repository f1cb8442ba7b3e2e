"""floe: Kafka topics into Apache Iceberg tables, exactly once, on Airflow and Spark.

What is public is in ``__all__``; a name is loaded when it is first used.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

__all__ = ["ConfigError", "Connector", "check_connectors", "connector_dags", "read_connector", "replay"]

_MODULE_OF = {
    "ConfigError": "floe.config.exceptions",
    "Connector": "floe.config.connector",
    "check_connectors": "floe.operators.dags.connector_dags",
    "connector_dags": "floe.operators.dags.connector_dags",
    "read_connector": "floe.config.connector_files",
    "replay": "floe.operators.replay",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(_MODULE_OF[name]), name)
