"""Who may call what: all routes of floe's apps in Airflow's real API server, with the four roles and a user of one DAG."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.support.api.database import changed, rows
from tests.support.api.records import deployment
from tests.support.api.routes import PAGE, body, routes
from tests.support.api.server import ApiServer, seed

ROLES = ("admin", "op", "user", "viewer")
MAKING = {"FLOE_REST_CONNECTORS": "true", "FLOE_REST_HOSTS": "catalog.example:8181"}
MOST_SECONDS = 5.0
"""That another answer takes during a flood. It took 34 s; a tenth of this is usual, and the machine may be busy."""

ALL = sorted(name for name, *_ in deployment())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """The server with a connector in each state."""
    seeds = [seed(name, kept, **more) for name, kept, more in deployment()]
    one = ApiServer(tmp_path_factory.mktemp("api"), seeds, **MAKING)
    yield one
    one.stop()


def names(client: httpx.Client) -> list[str]:
    answer = client.get("/floe/view/connectors").raise_for_status()
    return [line["name"] for line in answer.json()["connectors"]]


def test_no_route_answers_without_credentials(server: ApiServer) -> None:
    with server.client(None) as client:
        answers = {call: client.request(*call).status_code for call in routes()}
    assert len(answers) > 5
    assert {call: code for call, code in answers.items() if code != 401} == {}


def test_no_route_answers_a_wrong_token(server: ApiServer) -> None:
    with server.client(None) as client:
        client.headers["Authorization"] = "Bearer " + server.token("viewer")[:-4] + "aaaa"
        answers = {call: client.request(*call).status_code for call in routes()}
        client.headers.pop("Authorization")
        client.cookies.set("_token", "nonsense")
        answers |= {("cookie", path): client.request(method, path).status_code for method, path in routes()}
    assert {call: code for call, code in answers.items() if code not in (401, 403)} == {}


def test_cookie_beside_another_scheme_is_no_credential(server: ApiServer) -> None:
    with server.client(None) as client:
        client.cookies.set("_token", server.token("admin"))
        for header in ("Digest x", "Negotiate abc", "Bearer", "x"):
            client.headers["Authorization"] = header
            answers = {call: client.request(*call).status_code for call in routes()}
            assert {call: code for call, code in answers.items() if code != 401} == {}


def test_base_url_of_connect_needs_no_slash(server: ApiServer) -> None:
    with server.client(None) as client:
        refused = client.get("/connect")
    assert (refused.status_code, refused.headers["content-type"]) == (401, "application/json")
    with server.client("viewer") as client:
        plain, with_slash, page = client.get("/connect"), client.get("/connect/"), client.get("/connected")
    assert (plain.status_code, plain.json()) == (200, with_slash.json())
    assert (plain.json().keys(), "html" in page.text) == ({"version", "commit", "kafka_cluster_id"}, True)


@pytest.mark.parametrize("role", ROLES)
def test_each_role_reads_and_may_do_what_it_may_in_airflow(server: ApiServer, role: str) -> None:
    with server.client(role) as client:
        answers = {call: client.request(*call).status_code for call in routes("orders", PAGE) if call[0] == "GET"}
        may = client.get("/floe/view/connectors/orders").json()["may"]
        found = names(client)
    assert set(answers.values()) == {200, 307}
    assert may == {"run": role != "viewer", "pause": role != "viewer", "replay": role != "viewer", "records": True}
    assert found == ALL


def test_user_of_one_dag_sees_that_connector_only(server: ApiServer) -> None:
    with server.client("other") as client:
        assert names(client) == ["payments"]
        unknown, foreign = (client.get(f"/floe/view/connectors/{name}") for name in ("no-such", "orders"))
        own = client.get("/floe/view/connectors/payments").json()
        measured = client.get("/floe/metrics").text
    assert (foreign.status_code, foreign.json()) == (unknown.status_code, unknown.json()) == (404, unknown.json())
    assert own["may"] == {"run": True, "pause": True, "replay": False, "records": True}
    assert ('connector="payments"' in measured, 'connector="orders"' in measured) == (True, False)


def test_user_without_a_dag_sees_nothing(server: ApiServer) -> None:
    with server.client("stranger") as client:
        assert names(client) == []
        assert "connector=" not in client.get("/floe/metrics").text


def test_name_and_password_are_exchanged_and_wrong_ones_alike(server: ApiServer) -> None:
    with server.client(None) as client:

        def ask(name: str, password: str) -> httpx.Response:
            return client.get("/floe/metrics", auth=(name, password))

        good = ask("viewer", server.passwords["viewer"])
        wrong = [
            ask("viewer", "wrong-password-1"),
            ask("nosuch", "wrong-password-2"),
            ask("", ""),
            ask("a" * 5000, "b"),
        ]
    assert (good.status_code, "floe_lag_records" in good.text) == (200, True)
    assert {(one.status_code, one.text, one.headers["WWW-Authenticate"]) for one in wrong} == {
        (401, '{"detail":"Invalid credentials"}', "Bearer")
    }
    log = (Path(server.folder) / "server.log").read_text(errors="replace")
    assert [text for text in (*server.passwords.values(), "wrong-password") if text in log] == []


def test_session_cookie_works_for_the_page_and_its_actions(server: ApiServer) -> None:
    def by_cookie(user: str) -> httpx.Client:
        client = server.client(None)
        client.cookies.set("_token", server.token(user))
        return client

    with by_cookie("user") as client:
        assert client.get("/floe/page/").headers["Content-Type"] == "text/html; charset=utf-8"
        paused = client.patch("/api/v2/dags/orders?update_mask=is_paused", json={"is_paused": True})
        shown = client.get("/floe/view/connectors/orders").json()["state"]
        client.patch("/api/v2/dags/orders?update_mask=is_paused", json={"is_paused": False}).raise_for_status()
        run = client.post("/api/v2/dags/orders/dagRuns", json={"logical_date": None, "conf": {}})
        running = client.get("/floe/view/connectors/orders").json()
    assert (paused.status_code, shown, run.status_code, running["state"]) == (200, "paused", 200, "running")
    assert running["dag"]["run"]["run_id"] == run.json()["dag_run_id"]
    with server.client("admin") as client:
        logged = client.get("/api/v2/eventLogs?dag_id=orders&limit=100").raise_for_status().json()["event_logs"]
    assert {("patch_dag", "user"), ("trigger_dag_run", "user")} <= {(one["event"], one["owner"]) for one in logged}
    with by_cookie("viewer") as client:
        refused = client.patch("/api/v2/dags/orders?update_mask=is_paused", json={"is_paused": True})
        assert refused.status_code == 403
    with by_cookie("other") as client:
        assert client.post("/api/v2/dags/orders/dagRuns", json={"logical_date": None}).status_code == 403


def test_nothing_but_the_pages_own_files_is_answered(server: ApiServer) -> None:
    hostile = ("..%2fapp.py", "%2e%2e/app.py", "..%5capp.py", "__init__.py", "main.js%00", "/etc/passwd", "a" * 5000)
    with server.client("admin") as client:
        codes = {name[:20]: client.get(f"/floe/page/{name}").status_code for name in hostile}
        assert (set(codes.values()), client.get("/floe/page/main.js").status_code) == ({404}, 200)
        assert client.get("/floe/openapi.json").status_code == client.get("/floe/docs").status_code == 404


@pytest.mark.parametrize("path", ["/floe/page/", "/floe/view/connectors", "/floe/metrics"])
def test_answers_have_headers_that_confine_the_page(server: ApiServer, path: str) -> None:
    with server.client("viewer") as client:
        headers = client.get(path).headers
    policy = headers["Content-Security-Policy"]
    assert all(part in policy for part in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'self'"))
    assert ("unsafe" in policy, headers["X-Content-Type-Options"]) == (False, "nosniff")


def test_nothing_is_changed_by_another_method(server: ApiServer) -> None:
    with server.client("admin") as client:
        paths = {path for _, path in routes("orders", PAGE)}
        codes = {
            client.request(method, path).status_code for method in ("POST", "PUT", "PATCH", "DELETE") for path in paths
        }
    assert codes == {405}


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_reading_changes_no_row_of_the_database(server: ApiServer, method: str) -> None:
    path = server.folder / "airflow.db"
    with server.client("admin") as client:
        before = rows(path)
        assert len(before) > 40
        for _, route in routes():
            for query in ("", "?expand=info&expand=status", "?initial_state=STOPPED&is_paused=true&_method=DELETE"):
                headers = {"X-HTTP-Method-Override": "DELETE", "Content-Type": "application/json"}
                assert client.request(method, route + query, headers=headers).status_code < 500, route
        assert changed(before, rows(path)) == {}


def test_refused_calls_change_no_row_of_the_database(server: ApiServer) -> None:
    path, before = server.folder / "airflow.db", rows(server.folder / "airflow.db")
    evil = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example", "X-Floe": "1"}
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    login = httpx.BasicAuth("admin", server.passwords["admin"])
    cookie = {"Cookie": f"_token={server.token('admin')}"}
    with server.client(None) as client:
        for method, route in routes():
            if method == "GET" or route.endswith("/validate"):
                continue
            for headers, auth in ((cookie | form, None), (cookie | evil, None), (evil, login), (form | evil, login)):
                answer = client.request(method, route, headers=headers, json=body(method, route), auth=auth)
                assert answer.status_code in (401, 403), (method, route, headers, answer.text)
    assert changed(before, rows(path)) == {}


def test_flood_of_checks_leaves_the_server_to_others(server: ApiServer) -> None:
    path = "/connect/connector-plugins/IcebergSinkConnector/config/validate"
    content = {f"iceberg.catalog.h{number}.password": f"password{number}" for number in range(2_500)}  # 126 kB
    seconds: list[float] = []
    with server.client("admin") as client, server.client("viewer") as viewer, ThreadPoolExecutor(44) as pool:
        assert viewer.put(path, json=content).status_code == 403
        calls = [pool.submit(client.put, path, json=content) for _ in range(44)]
        while not all(call.done() for call in calls):
            began = time.perf_counter()
            assert viewer.get("/api/v2/version").status_code == 200
            seconds.append(time.perf_counter() - began)
    answers = [call.result() for call in calls]
    assert {answer.status_code for answer in answers} == {200, 503}
    assert all(answer.headers["Retry-After"] for answer in answers if answer.status_code == 503)
    assert max(seconds) < MOST_SECONDS
