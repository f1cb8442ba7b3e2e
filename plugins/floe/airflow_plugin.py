"""What floe adds to Airflow itself, by the entry point ``airflow.plugins``."""

from airflow.plugins_manager import AirflowPlugin

from floe.airflow_provider import check_import_name
from floe.airflow_settings import use_airflow_settings
from floe.api.connect import run_listener
from floe.api.lazy_app import PREFIX, BaseUrl, LazyApp
from floe.operators import preload
from floe.operators.dags.schedule import StaggeredInterval

check_import_name()
use_airflow_settings()

PAGE = "floe/page/"
"""Without a slash in front: Airflow may be under a path of its own."""


class FloePlugin(AirflowPlugin):
    """Registers what floe adds to Airflow itself."""

    name = "floe"
    listeners = [preload, run_listener]
    timetables = [StaggeredInterval]
    fastapi_apps = [
        {"name": "floe", "app": LazyApp(), "url_prefix": "/floe"},
        {"name": "floe as Kafka Connect", "app": LazyApp("floe.api.connect.app"), "url_prefix": PREFIX},
    ]
    fastapi_root_middlewares = [{"name": "base URL of Kafka Connect", "middleware": BaseUrl}]
    external_views = [
        {"name": "floe", "href": PAGE, "url_route": "floe", "destination": "nav", "icon": f"{PAGE}icon.svg"},
        {
            "name": "Connector",
            "href": f"{PAGE}#/connectors/{{DAG_ID}}",
            "url_route": "floe-connector",
            "destination": "dag",
            "icon": f"{PAGE}icon.svg",
        },
    ]
