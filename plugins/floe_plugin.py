"""The one file of floe's that Airflow imports as a plugin."""

from typing import Any, ClassVar

from airflow.plugins_manager import AirflowPlugin

from floe.operators import preload


class FloePlugin(AirflowPlugin):
    """Registers what floe adds to Airflow itself."""

    name = "floe"
    listeners: ClassVar[list[Any]] = [preload]
