"""Bodies, names and paths that no tool sends by accident: an answer of the caller's fault, and nothing stored."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from tests.support.api.site import Site
from tests.support.rest.floe_worker import BASE, CONFIG

NAMES = [
    "..",
    ".",
    "../x",
    "a/b",
    "a\\b",
    "a b",
    "a\x00b",
    "a\x1b[31m",
    "a\u202eb",
    "%2e%2e",
    "a%2fb",
    "<script>",
    "{{ 1 }}",
    "'; drop table dag; --",
    "one.replay",
    "",
    "x" * 201,
    "a\r\nSet-Cookie: x=1",
]


@pytest.mark.parametrize("name", NAMES)
def test_name_that_is_no_dag_id_is_refused(site: Site, name: str) -> None:
    answer = site.client(BASE).post("/connectors", json={"name": name, "config": CONFIG})
    assert (answer.status_code, site.raw_values()) == (400, [])
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("method", "rest"), [("GET", ""), ("PUT", "/config"), ("PUT", "/stop"), ("DELETE", "")])
def test_name_in_a_path_is_no_way_out(site: Site, name: str, method: str, rest: str) -> None:
    path = f"/connectors/{quote(name, safe='')}{rest}"
    answer = site.client(BASE).request(method, path, json=CONFIG if rest == "/config" else None)
    assert (answer.status_code in (200, 400, 404, 405), site.raw_values()) == (True, [])
    if answer.status_code == 200:  # clients resolve dots in a path, so it was another path
        assert answer.json() == [] or set(answer.json()) == {"version", "commit", "kafka_cluster_id"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"1",
        b'"x"',
        b"[]",
        b"{",
        b"\xff\xfe",
        b'{"a": NaN}',
        b"[" * 100_000,
        b'{"a": ' * 5_000,
        b'{"config": {"a": ["b"]}}',
        b'{"\xed\xa0\x80": "x"}',
        b'{"name": {"a": 1}, "config": {}}',
        b'{"name": "a", "config": {"topics": "\\ud800"}}',
        b'{"topics": "\\ud800", "\\udfff": "x"}',
        b'{"name": "\\ud800"}',
        json.dumps({"name": "a", "config": {str(number): "x" for number in range(6_000)}}).encode(),
    ],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/connectors"),
        ("PUT", "/connectors/a/config"),
        ("PATCH", "/connectors/filed/config"),
        ("PATCH", "/connectors/filed/offsets"),
        ("PUT", "/connector-plugins/IcebergSinkConnector/config/validate"),
    ],
)
def test_body_that_is_no_configuration_is_refused(site: Site, method: str, path: str, content: bytes) -> None:
    site.add_file("filed", {**CONFIG, "name": "filed"})
    site.add_dag("filed")
    answer = site.client(BASE).request(method, path, content=content, headers={"Content-Type": "application/json"})
    expected = (200, 400) if "validate" in path or method == "PATCH" else (400,)
    assert answer.status_code in {*expected, 409}
    assert (answer.status_code < 500, site.raw_values()) == (True, [])


@pytest.mark.parametrize("is_declared", [True, False])
def test_body_over_a_megabyte_is_refused(site: Site, is_declared: bool) -> None:
    content = b'{"name": "a", "config": {"topics": "' + b"x" * 1_100_000 + b'"}}'
    parts = content if is_declared else iter([content[:600_000], content[600_000:]])
    answer = site.client(BASE).post("/connectors", content=parts, headers={"Content-Type": "application/json"})
    assert (answer.status_code, site.raw_values()) == (413, [])


@pytest.mark.parametrize(
    "media", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/json", "application/xml"]
)
def test_body_of_another_media_type_is_refused(site: Site, media: str) -> None:
    answer = site.client(BASE).post("/connectors", content="{}", headers={"Content-Type": media})
    assert (answer.status_code, answer.json()["message"]) == (415, "HTTP 415 Unsupported Media Type")


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}],
)
def test_call_of_a_foreign_page_is_refused(site: Site, headers: dict[str, str]) -> None:
    answer = site.client(BASE, "admin", **headers).put("/connectors/one/config", json=CONFIG)
    assert (answer.status_code, site.raw_values()) == (403, [])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("iceberg.catalog.uri", "http://169.254.169.254/latest"),
        ("iceberg.catalog.uri", "http://catalog.example:8181@evil.example"),
        ("iceberg.catalog.warehouse", "file:///etc"),
        ("consumer.override.ssl.keystore.location", "/etc/shadow"),
        ("iceberg.kafka.bootstrap.servers", "evil.example:9092"),
        ("floe.kafka.conn-id", "prod"),
        ("iceberg.catalog.token", "${file:/etc/passwd:root}"),
        ("topics", "${env:FLOE_SECRET_KEY}"),
        ("transforms", "t"),
    ],
)
def test_what_leads_elsewhere_is_refused_with_its_key(site: Site, key: str, value: str) -> None:
    more = {"transforms.t.type": "python:os.system"} if key == "transforms" else {}
    answer = site.client(BASE).put("/connectors/one/config", json={**CONFIG, key: value, **more})
    assert (answer.status_code, site.raw_values()) == (400, [])
    assert key in answer.json()["message"]


def test_check_looks_nothing_up(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIDDEN_VALUE", "never shown")
    monkeypatch.setenv("FLOE_CONFIG_PROVIDERS", "env")
    path = "/connector-plugins/IcebergSinkConnector/config/validate"
    for switch in ("true", "false"):
        monkeypatch.setenv("FLOE_REST_CONNECTORS", switch)
        answer = site.client(BASE).put(path, json={**CONFIG, "name": "a", "topics": "${env:HIDDEN_VALUE}"})
        assert (answer.status_code, "never shown" in answer.text) == (200, False)
        assert answer.json()["error_count"] >= 1


def test_unexpected_error_shows_no_text(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from floe.api.connect.routes import connectors

    def fail(*_: object) -> None:
        msg = "password=hunter2"
        raise RuntimeError(msg)

    monkeypatch.setattr(connectors, "readable_connectors", fail)
    answer = site.client(BASE).get("/connectors")
    assert (answer.status_code, answer.json()["error_code"], "hunter2" in answer.text) == (500, 500, False)


@pytest.mark.parametrize(
    "header",
    [
        "Digest x",
        "Negotiate abc",
        "Token abc",
        "x",
        "",
        "Bearer",
        "Bearer ",
        "bearer\tabc",
        "Basic",
        "Bearerx abc",
        "ApiKey a",
    ],
)
def test_cookie_beside_another_scheme_changes_and_reads_nothing(site: Site, header: str) -> None:
    client = site.client(BASE, None, Authorization=header, Cookie=f"_token={site.token('admin')}")
    for method, path, body in (
        ("POST", "/connectors", {"name": "one", "config": CONFIG}),
        ("GET", "/connectors", None),
    ):
        answer = client.request(method, path, json=body)
        assert (answer.status_code, site.raw_values()) == (401, [])
        assert answer.headers["www-authenticate"] == "Bearer"
    page = site.client("/floe", None, Authorization=header, Cookie=f"_token={site.token('admin')}")
    assert page.get("/view/connectors").status_code == 401


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_token_is_taken_in_any_case_of_the_scheme(site: Site, scheme: str) -> None:
    client = site.client(BASE, None, Authorization=f"{scheme} {site.token('admin')}")
    assert client.get("/connectors").status_code == 200


def test_text_of_a_header_without_a_scheme_is_not_told(site: Site) -> None:
    answer = site.client(BASE, None, Authorization=site.token("admin")).get("/connectors")
    assert (answer.status_code, "eyJ" in answer.text) == (401, False)
