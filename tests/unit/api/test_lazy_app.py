"""Every process of Airflow loads plugins: what the API server alone needs is imported there alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support.repository import ROOT

NAMES = ("fastapi", "starlette", "sqlalchemy", "httpx", "floe.api.app", "floe.api.access", "airflow.models")

LOADED = """
import json, sys
{first}
before = set(sys.modules)
{then}
print(json.dumps([name for name in sys.argv[1:] if name in sys.modules and name not in before]))
"""


def loaded(tmp_path: Path, first: str, then: str) -> list[str]:
    """Return which of the modules ``then`` imports, after ``first``."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(first=first, then=then), *NAMES],
        env={**os.environ, "AIRFLOW_HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "plugins"), "FLOE_CACHE_DIR": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    return list(json.loads(done.stdout.splitlines()[-1]))


def test_plugin_imports_no_web_server_and_no_orm(tmp_path: Path) -> None:
    airflows_own = "import airflow.plugins_manager, airflow.listeners, floe.operators"
    assert loaded(tmp_path, airflows_own, "import floe.airflow_plugin as it; it.FloePlugin()") == []


def test_app_that_is_registered_imports_them_when_called(tmp_path: Path) -> None:
    call = "import asyncio\nasyncio.run(it.FloePlugin.fastapi_apps[0]['app'](%s, None, send))\n"
    answer = "answers = []\nasync def send(message): answers.append(message)\n"
    scope = {"type": "http", "method": "GET", "path": "/page/none.js", "headers": [], "query_string": b""}
    then = answer + call % scope + "assert answers[0]['status'] == 401, answers\n"
    found = loaded(tmp_path, "import floe.airflow_plugin as it", then)
    assert {"fastapi", "floe.api.app", "floe.api.access"} <= set(found)
