"""All routes that floe's plugin adds to Airflow's API server, as its apps have them: a new one is walked too."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from tests.support.rest.floe_worker import CONFIG

PAGE, CONNECT = "/floe", "/connect"
FILE = "main.js"


def routes(name: str = "orders", *prefixes: str) -> list[tuple[str, str]]:
    """Return methods and paths of all routes, those of one connector with its name. ``prefixes``: of apps; default all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from floe import airflow_plugin

        apps = {one["url_prefix"]: one["app"]._module for one in airflow_plugin.FloePlugin.fastapi_apps}
        assert set(apps) == {PAGE, CONNECT}
        made = {prefix: import_module(module).create_app() for prefix, module in apps.items()}

    def walk(found: Any, prefix: str) -> Iterator[tuple[str, str]]:
        for route in found:
            if hasattr(route, "methods"):
                path = _filled(prefix + route.path, name)
                yield from ((method, path) for method in route.methods or ())
            else:
                yield from walk(route.routes, prefix + route.path)

    return sorted({one for prefix in prefixes or apps for one in walk(made[prefix].routes, prefix)})


def of_connector(name: str) -> list[tuple[str, str]]:
    """Return the routes that are about one connector."""
    mark = "a-connector-that-does-not-exist"
    return [(method, path.replace(mark, name)) for method, path in routes(mark) if mark in path]


def body(method: str, path: str) -> Any:
    """Return what a call sends that would succeed if it were allowed; None where it sends nothing."""
    end = path.rstrip("/")
    if (method, end) == ("POST", f"{CONNECT}/connectors"):
        return {"name": "new", "config": CONFIG}
    if end.endswith("/offsets") and method == "PATCH":
        place = {"kafka_topic": "orders", "kafka_partition": 0}
        return {"offsets": [{"partition": place, "offset": {"kafka_offset": 10**9}}]}
    if method == "PATCH":
        return {"tasks.max": "3"}
    return CONFIG if end.endswith(("/config", "/validate")) and method == "PUT" else None


def _filled(path: str, name: str) -> str:
    return path.format(name=FILE if "/page/" in path else name, task="0", plugin="IcebergSinkConnector", logger="root")
