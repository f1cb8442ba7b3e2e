"""The one file of floe's that Airflow imports as a plugin."""

from typing import Any, ClassVar

from airflow.plugins_manager import AirflowPlugin

from floe.api.lazy_app import LazyApp
from floe.operators import preload


class FloePlugin(AirflowPlugin):
    """Registers what floe adds to Airflow itself."""

    name = "floe"
    listeners: ClassVar[list[Any]] = [preload]
    fastapi_apps: ClassVar[list[Any]] = [
        {"name": "floe as Kafka Connect", "app": LazyApp("floe.api.connect.app"), "url_prefix": "/connect"},
    ]
