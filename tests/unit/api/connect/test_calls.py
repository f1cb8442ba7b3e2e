"""Calls as tools send them: methods, paths, numbers and bodies that a worker reads, and how it reads them."""

from __future__ import annotations

import json
import logging

import pytest

from floe.config.secrets.mask import learn
from tests.support.api.site import Site
from tests.support.rest.floe_worker import BASE, CONFIG

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def one(site: Site) -> Site:
    """A site with a connector that REST made."""
    assert site.client(BASE).put("/connectors/one/config", json=CONFIG).status_code == 201
    site.add_dag("one")
    return site


@pytest.mark.parametrize(
    "path", ["/", "/health", "/connectors", "/connectors/one", "/connectors/one/status", "/connectors/none"]
)
def test_head_is_answered_as_get_without_a_body(one: Site, path: str) -> None:
    client = one.client(BASE)
    head, get = client.head(path), client.get(path)
    assert (head.status_code, head.content) == (get.status_code, b"")
    assert head.headers["content-type"] == get.headers["content-type"] == "application/json"


def test_head_without_credentials_is_refused(one: Site) -> None:
    assert one.client(BASE, None).head("/connectors/one").status_code == 401


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/", "GET, HEAD, OPTIONS"),
        ("/connectors", "GET, HEAD, OPTIONS, POST"),
        ("/connectors/one", "DELETE, GET, HEAD, OPTIONS"),
        ("/connectors/one/config", "GET, HEAD, OPTIONS, PATCH, PUT"),
        ("/connectors/one/offsets", "DELETE, GET, HEAD, OPTIONS, PATCH"),
        ("/connectors/one/pause", "OPTIONS, PUT"),
        ("/connectors/one/tasks/0/restart", "OPTIONS, POST"),
    ],
)
def test_all_methods_of_a_path_are_named(one: Site, path: str, methods: str) -> None:
    asked, refused = one.client(BASE).options(path), one.client(BASE).request("TRACE", path)
    assert (asked.status_code, asked.content, asked.headers["allow"]) == (200, b"", methods)
    assert (refused.status_code, refused.headers["allow"]) == (405, methods)


@pytest.mark.parametrize(
    "path", ["/health", "/connectors", "/connectors/one", "/connectors/one/status", "/connector-plugins"]
)
def test_slash_at_the_end_changes_nothing(one: Site, path: str) -> None:
    plain, with_slash = one.client(BASE).get(path), one.client(BASE).get(f"{path}/")
    assert (with_slash.status_code, with_slash.content) == (200, plain.content)


@pytest.mark.parametrize("below", ["", "/airflow"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE"])
def test_base_url_without_a_slash_is_the_workers(site: Site, method: str, below: str) -> None:
    client = site.client("", below=below)
    plain, with_slash = (client.request(method, f"http://testserver{below}{BASE}{end}") for end in ("", "/"))
    assert (plain.status_code, plain.content) == (with_slash.status_code, with_slash.content)
    assert plain.headers["content-type"] == "application/json"
    unknown = site.client("", None, below=below).request(method, f"http://testserver{below}{BASE}")
    assert unknown.status_code == (401 if method == "GET" or method == "HEAD" else with_slash.status_code)


def test_base_url_names_the_version(site: Site) -> None:
    answer = site.client("").get("http://testserver/connect?pretty")
    assert answer.json().keys() == {"version", "commit", "kafka_cluster_id"}


@pytest.mark.parametrize("path", ["/", "/connectx", "/connect.html", "/airflow/connect", "/dags/connect"])
def test_other_paths_are_airflows(site: Site, path: str) -> None:
    assert "Airflow" in site.client("").get(f"http://testserver{path}").text


def test_body_with_a_byte_order_mark_is_read(one: Site) -> None:
    content = b"\xef\xbb\xbf" + json.dumps({"tasks.max": "2"}).encode()
    answer = one.client(BASE).patch("/connectors/one/config", content=content, headers=JSON)
    assert (answer.status_code, answer.json()["config"]["tasks.max"]) == (200, "2")


@pytest.mark.parametrize("number", ["1.50", "1e3", "1E400", "10000000000000000.01", "7", "true"])
def test_number_is_kept_as_it_is_written(one: Site, number: str) -> None:
    answer = one.client(BASE).patch("/connectors/one/config", content=f'{{"x.y": {number}}}', headers=JSON)
    assert (answer.status_code, answer.json()["config"]["x.y"]) == (200, number)


@pytest.mark.parametrize(
    "body",
    [
        {"config": {**CONFIG, "name": "two"}},
        {"name": None, "config": {**CONFIG, "name": "two"}},
        {"name": ["two"], "config": CONFIG},
        *({"name": "two", "config": CONFIG, "initial_state": state} for state in ("", " RUNNING ", 0, False, [], {})),
    ],
)
def test_field_that_is_missing_or_wrong_is_not_guessed(site: Site, body: object) -> None:
    answer = site.client(BASE).post("/connectors", json=body)
    assert (answer.status_code, site.raw_values()) == (400, [])


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("includeTasks=true&includeTasks=false", 202),
        ("includeTasks=false&includeTasks=true", 204),
        ("onlyFailed=TRUE", 202),
    ],
)
def test_first_value_of_a_query_counts(one: Site, query: str, status: int) -> None:
    assert one.client(BASE).post(f"/connectors/one/restart?{query}").status_code == status


@pytest.mark.parametrize("task", ["1.0", "%200", "0%20", "x", "99999999999", "2147483648", "1e0", "%D9%A0", "0_0"])
def test_task_that_is_no_number_is_no_path(one: Site, task: str) -> None:
    for method, rest in (("GET", "status"), ("POST", "restart")):
        answer = one.client(BASE).request(method, f"/connectors/one/tasks/{task}/{rest}")
        assert (answer.status_code, answer.json()["message"]) == (404, "HTTP 404 Not Found")


@pytest.mark.parametrize("task", ["0", "00", "+0", "-0"])
def test_task_is_a_number_as_java_reads_it(one: Site, task: str) -> None:
    assert one.client(BASE).get(f"/connectors/one/tasks/{task}/status").json()["id"] == 0


def test_unexpected_error_is_logged_without_secrets(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from starlette.testclient import TestClient

    from floe.api.connect.routes import connectors

    secret = "hunter2-of-the-lake"
    learn({"iceberg.catalog.token": secret})

    def fail(*_: object) -> None:
        msg = f"refused {secret}"
        raise LookupError(msg)

    monkeypatch.setattr(connectors, "readable_connectors", fail)
    headers = dict(site.client(BASE).headers)
    # an error that gets to the web server is raised here, as it would be logged there
    with TestClient(site.app, f"http://testserver{BASE}", headers=headers) as client, caplog.at_level(logging.ERROR):
        answer = client.get("/connectors")
    assert (answer.status_code, "LookupError" in answer.json()["message"]) == (500, True)
    assert ("LookupError: refused" in caplog.text, "in fail" in caplog.text, secret in caplog.text) == (
        True,
        True,
        False,
    )
