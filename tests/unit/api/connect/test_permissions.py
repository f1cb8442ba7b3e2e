"""Every route, as each user: who calls is asked first, a connector that one may not read is unknown."""

from __future__ import annotations

import pytest

from floe.api.connect.app import create_app
from tests.support.api.site import Site
from tests.support.rest.floe_worker import BASE, CONFIG

ROUTES = sorted(
    (method, route.path.format(name="orders", task="0", plugin="IcebergSinkConnector", logger="root"))  # type: ignore[attr-defined]
    for route in create_app().routes
    for method in route.methods  # type: ignore[attr-defined]
)
BODIES = {
    ("POST", "/connectors"): {"name": "new", "config": CONFIG},
    ("PUT", "/connectors/orders/config"): CONFIG,
    ("PATCH", "/connectors/orders/config"): {"tasks.max": "2"},
    ("PATCH", "/connectors/orders/offsets"): {
        "offsets": [{"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": 1}}]
    },
    ("PUT", "/connector-plugins/IcebergSinkConnector/config/validate"): CONFIG,
}
OF_CONNECTOR = [(method, path) for method, path in ROUTES if path.startswith("/connectors/orders")]
CHANGES = [(method, path) for method, path in OF_CONNECTOR if method != "GET"]
FREE = [(method, path) for method, path in ROUTES if "orders" not in path and method == "GET" and "loggers" not in path]


def call(site: Site, user: str | None, method: str, path: str, **headers: str) -> int:
    with site.client(BASE, user, **headers) as client:
        return client.request(method, path, json=BODIES.get((method, path.rstrip("/")))).status_code


@pytest.fixture
def orders(site: Site) -> Site:
    """A site with a connector that REST made."""
    with site.client(BASE) as client:
        assert client.put("/connectors/orders/config", json=CONFIG).status_code == 201
    site.add_dag("orders")
    return site


def test_all_routes_are_walked() -> None:
    assert (len(ROUTES) > 25, len(CHANGES) > 10, len(FREE) > 4) == (True, True, True)


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_anonymous_call_is_refused(orders: Site, method: str, path: str) -> None:
    assert call(orders, None, method, path) == 401


@pytest.mark.parametrize(("method", "path"), ROUTES[::6])
@pytest.mark.parametrize("credentials", ["Basic YTpi", "Basic !", "Bearer a.b.c", "Basic", "Digest x"])
def test_wrong_credentials_are_refused(orders: Site, method: str, path: str, credentials: str) -> None:
    assert call(orders, None, method, path, Authorization=credentials) in (401, 403)


@pytest.mark.parametrize(("method", "path"), [*CHANGES, ("POST", "/connectors")])
def test_change_by_a_cookie_is_refused(orders: Site, method: str, path: str) -> None:
    cookie = f"_token={orders.token('admin')}"
    assert call(orders, None, method, path, Cookie=cookie, **{"X-Floe": "1"}) == 401
    assert call(orders, None, "GET", "/connectors/orders", Cookie=cookie) == 200


@pytest.mark.parametrize(("method", "path"), OF_CONNECTOR)
def test_connector_that_one_may_not_read_is_unknown(orders: Site, method: str, path: str) -> None:
    if (method, path) == ("PUT", "/connectors/orders/config"):
        assert call(orders, "other", method, path) == 403  # its name is taken, and they may not edit its DAG
    else:
        assert call(orders, "other", method, path) == 404


def test_list_has_what_one_may_read(orders: Site) -> None:
    orders.add_file("payments", {**CONFIG, "name": "payments"})
    orders.add_dag("payments")
    found = {user: orders.client(BASE, user).get("/connectors").json() for user in ("viewer", "other")}
    assert found == {"viewer": ["orders", "payments"], "other": ["payments"]}


@pytest.mark.parametrize(("method", "path"), [*CHANGES, ("POST", "/connectors")])
def test_viewer_changes_nothing(orders: Site, method: str, path: str) -> None:
    before = sorted(orders.raw_values()), orders.is_paused("orders")
    assert call(orders, "viewer", method, path) == 403
    assert (sorted(orders.raw_values()), orders.is_paused("orders")) == before


@pytest.mark.parametrize("path", ["/connectors", *(path for method, path in OF_CONNECTOR if method == "GET")])
def test_viewer_reads(orders: Site, path: str) -> None:
    assert call(orders, "viewer", "GET", path) == 200


@pytest.mark.parametrize(("method", "path"), FREE)
def test_who_may_call_reads_what_is_no_connectors(orders: Site, method: str, path: str) -> None:
    assert call(orders, "other", method, path) == 200


def test_user_pauses_and_does_not_make_connectors(orders: Site) -> None:
    assert call(orders, "user", "PUT", "/connectors/orders/pause") == 202
    for method, path in (
        ("POST", "/connectors"),
        ("DELETE", "/connectors/orders"),
        ("PUT", "/connectors/orders/config"),
    ):
        assert call(orders, "user", method, path) == 403
    assert call(orders, "op", "POST", "/connectors") == 201


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/connectors", {"name": "new", "config": CONFIG}),
        ("PUT", "/connectors/new/config", CONFIG),
    ],
)
def test_without_the_switch_no_connector_is_made(
    site: Site, monkeypatch: pytest.MonkeyPatch, method: str, path: str, body: object
) -> None:
    monkeypatch.delenv("FLOE_REST_CONNECTORS")
    answer = site.client(BASE).request(method, path, json=body)
    assert (answer.status_code, "FLOE_REST_CONNECTORS=true" in answer.json()["message"]) == (403, True)
    assert site.raw_values() == []


def test_no_get_changes_anything(orders: Site) -> None:
    before = sorted(orders.raw_values()), orders.is_paused("orders"), orders.runs("orders")
    for method, path in ROUTES:
        if method == "GET":
            call(orders, "admin", method, path)
    assert (sorted(orders.raw_values()), orders.is_paused("orders"), orders.runs("orders")) == before


@pytest.mark.parametrize("host", ["testserver", "127.0.0.1:8080", "a b", "[::1", "x:99999999999"])
def test_login_needs_neither_host_nor_path(orders: Site, host: str) -> None:
    for below in ("", "/airflow", "/connect"):
        answer = orders.client(BASE, "viewer", below=below, Host=host).get("/connectors/orders")
        assert (answer.status_code, answer.json().get("name")) == (200, "orders"), (below, answer.text)


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_name_of_a_former_connector_needs_its_dag(site: Site, method: str) -> None:
    site.add_dag("former", is_paused=True)
    path, content = ("/connectors", {"name": "former", "config": CONFIG})
    if method == "PUT":
        path, content = "/connectors/former/config", CONFIG
    refused = site.client(BASE, "other").request(method, path, json=content)
    assert (refused.status_code, site.raw_values(), site.is_paused("former")) == (403, [], True)
    assert "'former'" in refused.json()["message"]
    assert site.client(BASE, "op").request(method, path, json=content).status_code == 201
