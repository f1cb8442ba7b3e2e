"""A thin client of Airflow's REST API (`/api/v2`), by urllib alone."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from stack.exceptions import RunFailed, StackError

FINAL = ("success", "failed")
_PAUSE = 0.3

TRIES = 5
"""Of what may be sent twice. An Airflow on SQLite waits 5 seconds for its own scheduler, each time."""

_REPEATABLE = ("GET", "PATCH")
"""What may be sent twice without a difference."""

Json = dict[str, Any]

PATIENCE = 600.0
"""Seconds for what Airflow does by itself, on a machine that is busy with other things too."""

_ANSWERED_WITHIN = 30.0
"""Seconds."""


class Rest:
    """Airflow's API, as one user sees it; the token is fetched when it is first needed."""

    def __init__(self, url: str, user: str, password: Callable[[], str]) -> None:
        self.url = url
        self._user = user
        self._password = password
        self._token = ""
        # The API is on this machine: a proxy of the environment is not used.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def answers(self) -> bool:
        """Return whether the API is up."""
        try:
            return "version" in self._send("GET", "/api/v2/version", None, {})
        except (OSError, ValueError):
            return False

    def health(self) -> Json:
        """Return the health of Airflow's parts, as it answers without a login. Raises OSError, ValueError."""
        return self._send("GET", "/api/v2/monitor/health", None, {})

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        tries: int = TRIES,
        is_repeatable: bool = False,
    ) -> Json:
        """Call the API; raises StackError with the method, the path and the API's own message.

        ``tries``: of a GET that is not answered in time, and of a GET, a PATCH or what ``is_repeatable``, that is answered
        by 500.
        """
        try:
            if not self._token:
                self._token = self._login()
            return self._send(method, path, body, {"Authorization": f"Bearer {self._token}"})
        except urllib.error.HTTPError as error:
            is_repeatable = is_repeatable or method in _REPEATABLE
            if tries > 1 and is_repeatable and error.code == HTTPStatus.INTERNAL_SERVER_ERROR:
                time.sleep(_PAUSE)
                return self.call(method, path, body, tries=tries - 1, is_repeatable=True)
            said = error.read().decode(errors="replace")[:500]
            text = f"Airflow answered {error.code} to {method} {path}: {said}"
            raise StackError(text) from error
        except OSError as error:
            if tries > 1 and method == "GET" and _is_late(error):
                return self.call(method, path, body, tries=tries - 1)
            text = f"Airflow does not answer at {self.url} ({error}): see `make status`"
            raise StackError(text) from error

    def wait_for_dag(self, dag_id: str, seconds: float = PATIENCE) -> None:
        """Wait until Airflow has parsed a DAG; raises RunFailed with the import errors if it has not."""
        end = time.monotonic() + seconds
        path = f"/api/v2/dags?dag_id_pattern={urllib.parse.quote(dag_id)}&exclude_stale=true"
        while True:
            if any(dag["dag_id"] == dag_id for dag in self.call("GET", path)["dags"]):
                return
            if time.monotonic() > end:
                errors = self.call("GET", "/api/v2/importErrors")["import_errors"]
                message = "".join(f"\n{error['filename']}:\n{error['stack_trace']}" for error in errors)
                text = f"Airflow did not find a DAG {dag_id!r} within {seconds:.0f} s{message or ': no import error'}"
                raise RunFailed(text)
            time.sleep(_PAUSE)

    def unpause(self, dag_id: str) -> None:
        """Let the scheduler run a DAG."""
        self.call("PATCH", f"/api/v2/dags/{dag_id}", {"is_paused": False})

    def pause(self, dag_id: str) -> None:
        """Keep the scheduler from starting further runs of a DAG."""
        self.call("PATCH", f"/api/v2/dags/{dag_id}", {"is_paused": True})

    def is_paused(self, dag_id: str) -> bool:
        """Say whether a DAG is paused: no run of it begins."""
        return bool(self.call("GET", f"/api/v2/dags/{dag_id}")["is_paused"])

    def trigger(self, dag_id: str, conf: Mapping[str, Any] | None = None) -> str:
        """Trigger a run and return its id, which is given here: a call that is sent twice makes one run."""
        body = {"logical_date": None, "conf": dict(conf or {})}
        return self._begun(dag_id, f"/api/v2/dags/{dag_id}/dagRuns", body)

    def materialize(self, asset_id: int, dag_id: str) -> str:
        """Let Airflow start a run of the DAG that produces an asset, and return its id. Raises StackError."""
        return self._begun(dag_id, f"/api/v2/assets/{asset_id}/materialize", {})

    def add_connection(self, connection: Mapping[str, Any]) -> None:
        """Add a connection that there is not yet; ``connection``: its fields by Airflow's names."""
        try:
            self.call("POST", "/api/v2/connections", connection, is_repeatable=True)
        except StackError:
            self.call("GET", f"/api/v2/connections/{connection['connection_id']}")  # an earlier try has made it

    def _begun(self, dag_id: str, path: str, body: Mapping[str, Any]) -> str:
        """Begin a run by an id that is given here: a call that is sent twice makes one run."""
        run_id = f"manual__{datetime.now(UTC).isoformat()}"
        try:
            self.call("POST", path, {"dag_run_id": run_id, **body}, is_repeatable=True)
        except StackError:
            if run_id not in {run["dag_run_id"] for run in self.runs(dag_id)}:
                raise
        return run_id

    def runs(self, dag_id: str) -> list[Json]:
        """List the runs of a DAG, the newest first."""
        found: list[Json] = self.call("GET", f"/api/v2/dags/{dag_id}/dagRuns?order_by=-run_after&limit=50")["dag_runs"]
        return found

    def wait_for_scheduled_run(self, dag_id: str, seconds: float = PATIENCE) -> str:
        """Wait until the scheduler has started a run by itself and return its id; raises RunFailed."""
        end = time.monotonic() + seconds
        while not (ids := [str(run["dag_run_id"]) for run in self.runs(dag_id) if run["run_type"] == "scheduled"]):
            if time.monotonic() > end:
                text = f"the scheduler started no run of {dag_id!r} within {seconds:.0f} s: is the DAG paused?"
                raise RunFailed(text)
            time.sleep(_PAUSE)
        return ids[0]

    def clear(self, dag_id: str, run_id: str, task_ids: list[str] | None = None) -> None:
        """Clear tasks of a run (all without `task_ids`), whatever their state, so that they run again."""
        body: Json = {"dag_run_id": run_id, "dry_run": False, "only_failed": False, "reset_dag_runs": True}
        if task_ids:
            body["task_ids"] = task_ids
        self.call("POST", f"/api/v2/dags/{dag_id}/clearTaskInstances", body, is_repeatable=True)

    def run(self, dag_id: str, run_id: str) -> Json:
        """Return a run."""
        return self.call("GET", f"/api/v2/dags/{dag_id}/dagRuns/{urllib.parse.quote(run_id)}")

    def wait_for_run(self, dag_id: str, run_id: str, seconds: float = PATIENCE) -> str:
        """Wait for the end of a run and return its state, `success` or `failed`."""
        end = time.monotonic() + seconds
        while (state := str(self.run(dag_id, run_id)["state"])) not in FINAL:
            if time.monotonic() > end:
                tasks = {one["task_id"]: one["state"] for one in self.task_instances(dag_id, run_id)}
                text = f"run {run_id!r} of {dag_id!r} is still {state} after {seconds:.0f} s, its tasks: {tasks}"
                raise RunFailed(text)
            time.sleep(_PAUSE)
        return state

    def task_instances(self, dag_id: str, run_id: str) -> list[Json]:
        """List the task instances of a run."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{urllib.parse.quote(run_id)}/taskInstances"
        found: list[Json] = self.call("GET", path)["task_instances"]
        return found

    def log(self, dag_id: str, run_id: str, task: Json, number: int | None = None) -> list[str]:
        """Return the log of a try of a task instance, of the last one by default, a line per message."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{urllib.parse.quote(run_id)}/taskInstances/{task['task_id']}/logs/"
        path += f"{number or max(1, int(task['try_number']))}?map_index={task.get('map_index', -1)}&full_content=true"
        content = self.call("GET", path).get("content", [])
        return content.splitlines() if isinstance(content, str) else [_line(entry) for entry in content]

    def _login(self) -> str:
        body = {"username": self._user, "password": self._password()}
        return str(self._send("POST", "/auth/token", body, {})["access_token"])

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]) -> Json:
        data = None if body is None else json.dumps(body).encode()
        sent = {"Content-Type": "application/json", "Accept": "application/json", **headers}
        request = urllib.request.Request(self.url + path, data=data, headers=sent, method=method)  # noqa: S310
        with self._opener.open(request, timeout=_ANSWERED_WITHIN) as answer:
            text = answer.read()
        found: Json = json.loads(text) if text else {}
        return found


def _is_late(error: OSError) -> bool:
    return isinstance(error, TimeoutError) or isinstance(getattr(error, "reason", None), TimeoutError)


def _line(entry: Any) -> str:
    """Return one structured log message as a line, with the errors attached to it."""
    if not isinstance(entry, dict):
        return str(entry)
    line = f"{entry.get('level', '')} {entry.get('event', '')}".strip()
    for error in entry.get("error_detail") or []:
        line += f"\n  {error.get('exc_type')}: {error.get('exc_value')}"
    return line
