"""Rights by DAG of Airflow's FAB auth manager: all routes of floe's apps, for one's own connector and for another's."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from stack.exceptions import Unsuitable
from tests.support.api import fab
from tests.support.api.database import changed, rows
from tests.support.api.records import deployment
from tests.support.api.routes import CONNECT, body, of_connector, routes
from tests.support.api.server import ApiServer, seed
from tests.support.rest.floe_worker import CONFIG

pytestmark = pytest.mark.full

FILES = {
    "orders": {fab.READER: "can_read", fab.EDITOR: "can_read, can_edit", fab.RUNNER: "can_read, can_edit, can_trigger"},
    "payments": {fab.BYSTANDER: "can_read, can_edit, can_delete, can_trigger"},
}
"""What roles may do with the DAGs of connectors in files; other roles of ``fab.USERS`` have theirs on all DAGs."""

OWN = {"reader": "orders", "editor": "orders", "runner": "orders", "bystander": "payments"}
LOGINS = ("ab_user", "session")
"""Tables of FAB that a login changes."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """The server under FAB, with a connector in each state."""
    try:
        python = fab.environment(tmp_path_factory.mktemp("fab"))
    except Unsuitable as missing:
        pytest.skip(str(missing))
    keys = {
        name: {f"floe.dag.access-control.{role}": may for role, may in roles.items()} for name, roles in FILES.items()
    }
    one = ApiServer(
        tmp_path_factory.mktemp("api"),
        [seed(name, kept, **more) for name, kept, more in deployment()],
        python=python,
        files=keys,
        users=tuple(fab.USERS),
        AIRFLOW__CORE__AUTH_MANAGER=fab.MANAGER,
        FLOE_REST_CONNECTORS="true",
        FLOE_REST_HOSTS="catalog.example:8181",
    )
    yield one
    one.stop()


def by_login(server: ApiServer, user: str) -> httpx.Client:
    """Return a client that sends name and password with each call."""
    client = server.client(None)
    client.auth = (user, server.passwords[user])
    return client


def unknown(text: str, name: str) -> str:
    """Return an answer without a connector's name."""
    return text.replace(name, "<name>")


def test_no_route_answers_without_credentials(server: ApiServer) -> None:
    with server.client(None) as client:
        codes = {client.request(*call, json=body(*call)).status_code for call in routes()}
    assert codes == {401}


@pytest.mark.parametrize("is_login", [False, True])
@pytest.mark.parametrize("user", OWN)
def test_lists_and_metrics_have_ones_own_connector_only(server: ApiServer, user: str, is_login: bool) -> None:
    own = [OWN[user]]
    with by_login(server, user) if is_login else server.client(user) as client:
        page = client.get("/floe/view/connectors").raise_for_status()
        measured = client.get("/floe/metrics").raise_for_status()
        listed = client.get("/connect/connectors").raise_for_status()
        expanded = client.get("/connect/connectors?expand=info&expand=status").raise_for_status()
    assert [line["name"] for line in page.json()["connectors"]] == own
    assert set(re.findall(r'connector="([^"]*)"', measured.text)) == set(own)
    assert (listed.json(), list(expanded.json())) == (own, own)
    others = [name for name, *_ in deployment() if name not in own]
    for answer in (page, measured, listed, expanded):
        assert [name for name in others if f'"{name}"' in answer.text] == []


@pytest.mark.parametrize("is_login", [False, True])
def test_anothers_connector_is_as_one_that_is_not_there(server: ApiServer, is_login: bool) -> None:
    before = rows(server.folder / "airflow.db", LOGINS)
    with by_login(server, "bystander") if is_login else server.client("bystander") as client:
        for (method, path), (_, nowhere) in zip(of_connector("orders"), of_connector("no-such"), strict=True):
            foreign = client.request(method, path, json=body(method, path))
            nothing = client.request(method, nowhere, json=body(method, nowhere))
            assert foreign.status_code == nothing.status_code, path
            assert unknown(foreign.text, "orders") == unknown(nothing.text, "no-such"), path
            assert foreign.status_code == (403 if (method, path[-7:]) == ("PUT", "/config") else 404), path
    assert changed(before, rows(server.folder / "airflow.db", LOGINS)) == {}


@pytest.mark.parametrize(
    ("user", "may"),
    [
        ("reader", {}),
        ("editor", {"pause": 202, "resume": 202, "stop": 204}),
        ("runner", {"pause": 202, "resume": 202, "stop": 204, "restart": 204, "offsets": 400}),
        ("viewer", {}),
        ("user", {"pause": 202, "resume": 202, "stop": 204, "restart": 204, "offsets": 400}),
    ],
)
def test_rights_on_the_dag_are_those_on_the_connector(server: ApiServer, user: str, may: dict[str, int]) -> None:
    found: dict[str, set[int]] = {}
    with server.client("admin") as client:
        client.put("/connect/connectors/orders/resume").raise_for_status()
    with server.client(user) as client:
        calls = of_connector("orders")
        reads = {path: client.get(path).status_code for method, path in calls if method == "GET"}
        for method, path in calls:
            if method != "GET" and path.startswith(CONNECT):
                code = client.request(method, path, json=body(method, path)).status_code
                found.setdefault(path.rpartition("/")[2], set()).add(code)
    assert set(reads.values()) == {200}
    of_files = {action: found.pop(action) for action in ("config", "orders", "reset")}
    assert set().union(*of_files.values()) <= {403, 409}, of_files
    assert found == {action: {may.get(action, 403)} for action in found}


@pytest.mark.parametrize(
    ("user", "may"),
    [
        ("reader", {"run": False, "pause": False, "replay": False}),
        ("editor", {"run": False, "pause": True, "replay": False}),
        ("runner", {"run": True, "pause": True, "replay": True}),
    ],
)
def test_buttons_of_the_page_are_what_airflow_lets_one_do(server: ApiServer, user: str, may: dict[str, bool]) -> None:
    with server.client(user) as client:
        shown = client.get("/floe/view/connectors/orders").json()["may"]
        run = client.post("/api/v2/dags/orders/dagRuns", json={"logical_date": None, "conf": {}})
        paused = client.patch("/api/v2/dags/orders?update_mask=is_paused", json={"is_paused": False})
    assert shown == {**may, "records": True}
    assert (run.status_code == 200, paused.status_code == 200) == (may["run"], may["pause"])


def test_connector_is_made_by_who_may_make_variables(server: ApiServer) -> None:
    codes = {}
    for user in (*OWN, "viewer", "user"):
        with server.client(user) as client:
            codes[user] = client.post("/connect/connectors", json={"name": "new", "config": CONFIG}).status_code
    assert set(codes.values()) == {403}, codes
    with by_login(server, "op") as client:
        assert client.post("/connect/connectors", json={"name": "new", "config": CONFIG}).status_code == 201
    with server.client("reader") as client:
        assert client.get("/connect/connectors").json() == ["orders"]
    with server.client("admin") as client:
        assert client.delete("/connect/connectors/new").status_code == 204


def test_audit_log_has_what_was_changed_by_whom(server: ApiServer) -> None:
    with by_login(server, "editor") as client:
        assert client.put("/connect/connectors/orders/pause").status_code == 202

    def entries(user: str) -> list[tuple[str, str, str]]:
        with server.client(user) as client:
            path = "/api/v2/eventLogs?event=floe.connector.pause&order_by=-when&limit=1"
            found = client.get(path).raise_for_status().json()["event_logs"]
        return [(one["event"], one["dag_id"], one["owner"]) for one in found]

    assert entries("admin") == [("floe.connector.pause", "orders", "editor")]


def test_wrong_logins_have_one_answer_and_no_trace(server: ApiServer) -> None:
    with server.client(None) as client:
        answers = [
            client.get("/connect/connectors", auth=(name, password))
            for name, password in (
                ("admin", "wrong-password"),
                ("nosuch", "wrong-password"),
                ("", ""),
                ("a" * 4000, "b"),
            )
        ]
    assert {(one.status_code, one.text, one.headers["WWW-Authenticate"]) for one in answers} == {
        (401, '{"error_code":401,"message":"Invalid credentials"}', "Bearer")
    }
    assert all("set-cookie" not in one.headers for one in answers)
    log = (Path(server.folder) / "server.log").read_text(errors="replace")
    assert [text for text in (*server.passwords.values(), "wrong-password") if text in log] == []


def test_login_of_a_deactivated_user_is_refused(server: ApiServer) -> None:
    def set_active(is_active: bool) -> None:
        with closing(sqlite3.connect(server.folder / "airflow.db", timeout=60)) as connection:
            connection.execute("UPDATE ab_user SET active = ? WHERE username = 'user'", (is_active,))
            connection.commit()

    with by_login(server, "user") as client:
        assert client.get("/connect/connectors").status_code == 200
        set_active(False)
        assert client.get("/connect/connectors").status_code == 401
        set_active(True)
