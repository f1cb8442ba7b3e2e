"""Calls of Airflow's API: one that is late is asked again, if it changes nothing."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from stack.exceptions import StackError
from stack.services import rest
from stack.services.airflow import Airflow
from stack.services.rest import Rest


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Rest, list[str]]]:
    """An API that leaves the first call of each method without an answer, and the calls it got."""
    monkeypatch.setattr(rest, "_ANSWERED_WITHIN", 0.3)
    calls: list[str] = []
    made: list[dict[str, object]] = []
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            is_first = self.command not in calls and "twice" not in self.path
            calls.append(self.command)
            if is_first and "locked" in self.path:
                self.send_error(500)
                return
            if is_first:
                ended.wait(30)
                return
            length = int(self.headers.get("Content-Length") or 0)
            run = json.loads(self.rfile.read(length)) if length else {}
            if self.command == "POST":
                made.append(run)
            if "twice" in self.path and self.command == "POST":
                self.send_error(500 if len(made) < 2 else 409)
                return
            body = json.dumps({"dag_runs": made}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PATCH = do_POST = answer

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    one = Rest(f"http://127.0.0.1:{server.server_port}", "u", lambda: "p")
    one._token = "known"
    yield one, calls
    ended.set()
    server.shutdown()
    server.server_close()


def test_get_that_is_late_is_asked_again(late: tuple[Rest, list[str]]) -> None:
    api, calls = late
    assert api.runs("x") == []
    assert calls == ["GET", "GET"]


def test_change_that_is_late_is_not_asked_again(late: tuple[Rest, list[str]]) -> None:
    api, calls = late
    with pytest.raises(StackError, match="timed out"):
        api.pause("x")
    assert calls == ["PATCH"]


def test_change_that_fails_in_the_database_is_sent_again(late: tuple[Rest, list[str]]) -> None:
    api, calls = late
    api.pause("locked")
    assert calls == ["PATCH", "PATCH"]


def test_trigger_that_fails_in_the_database_is_sent_again_as_the_same_run(late: tuple[Rest, list[str]]) -> None:
    api, calls = late
    assert api.trigger("locked").startswith("manual__")
    assert calls == ["POST", "POST"]


def test_trigger_that_was_refused_as_it_had_made_the_run_returns_it(late: tuple[Rest, list[str]]) -> None:
    api, calls = late
    run = api.trigger("twice")
    assert calls == ["POST", "POST", "GET"]
    assert [one["dag_run_id"] for one in api.runs("twice")] == [run, run]


def test_parts_of_airflow_that_are_not_alive_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Airflow(tmp_path, 1, tmp_path, tmp_path)
    parts = {"scheduler": "unhealthy", "dag_processor": "healthy", "triggerer": None}
    health = {name: {"status": status, f"latest_{name}_heartbeat": None} for name, status in parts.items()}
    monkeypatch.setattr(Rest, "health", lambda _: health)
    assert [text.partition(" is not")[0] for text in one.dead_parts()] == ["Airflow's scheduler", "Airflow's triggerer"]
    monkeypatch.setattr(Rest, "health", lambda _: {"detail": "x"})
    (text,) = one.dead_parts()
    assert "does not say whether its scheduler is alive" in text
