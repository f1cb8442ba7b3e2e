"""The one file of floe's that Airflow imports as a plugin."""

from typing import Any, ClassVar

from airflow.plugins_manager import AirflowPlugin

from floe.api.connect import run_listener
from floe.api.connect.http.base_url import PREFIX, BaseUrl
from floe.api.lazy_app import LazyApp
from floe.operators import preload
from floe.operators.dags.staggered_interval import StaggeredInterval

PAGE = "floe/page/"
"""Without a slash in front: Airflow may be under a path of its own."""


class FloePlugin(AirflowPlugin):
    """Registers what floe adds to Airflow itself."""

    name = "floe"
    listeners: ClassVar[list[Any]] = [preload, run_listener]
    timetables: ClassVar[list[Any]] = [StaggeredInterval]
    fastapi_apps: ClassVar[list[Any]] = [
        {"name": "floe", "app": LazyApp(), "url_prefix": "/floe"},
        {"name": "floe as Kafka Connect", "app": LazyApp("floe.api.connect.app"), "url_prefix": PREFIX},
    ]
    fastapi_root_middlewares: ClassVar[list[Any]] = [{"name": "base URL of Kafka Connect", "middleware": BaseUrl}]
    external_views: ClassVar[list[Any]] = [
        {"name": "floe", "href": PAGE, "url_route": "floe", "destination": "nav", "icon": f"{PAGE}icon.svg"},
        {
            "name": "Connector",
            "href": f"{PAGE}#/connectors/{{DAG_ID}}",
            "url_route": "floe-connector",
            "destination": "dag",
            "icon": f"{PAGE}icon.svg",
        },
    ]
