"""What all connectors made by REST may have together: beyond it none is made, and one that is there is left out by name."""

from __future__ import annotations

import pytest

from floe.config.stored import budget
from floe.config.stored.stored_connector import CONNECTOR, StoredConnector
from tests.support.api.site import Site
from tests.support.rest.floe_worker import BASE, CONFIG


def tables(first: int, count: int) -> dict[str, str]:
    return {**CONFIG, "iceberg.tables": ",".join(f"db.t{number}" for number in range(first, first + count))}


def test_connector_beyond_the_tables_of_all_is_refused(site: Site) -> None:
    client = site.client(BASE)
    for number in range(2):
        assert client.put(f"/connectors/large-{number}/config", json=tables(number, 4_900)).status_code == 201
    before = sorted(site.raw_values())
    for method, path, body in (
        ("PUT", "/connectors/large-2/config", tables(2, 4_900)),
        ("POST", "/connectors", {"name": "large-2", "config": tables(2, 201)}),
        ("PUT", "/connectors/large-0/config", tables(0, 5_101)),
        ("PATCH", "/connectors/large-1/config", {"iceberg.tables": tables(0, 5_101)["iceberg.tables"]}),
    ):
        answer = client.request(method, path, json=body)
        assert (answer.status_code, "10000" in answer.json()["message"]) == (403, True), answer.text
        assert "Nothing was changed" in answer.json()["message"]
    assert sorted(site.raw_values()) == before
    assert client.put("/connectors/small/config", json=tables(0, 200)).status_code == 201
    assert client.put("/connectors/large-0/config", json=tables(0, 10)).status_code == 200
    assert client.put("/connectors/large-2/config", json=tables(2, 4_800)).status_code == 201


def test_connector_beyond_the_bytes_of_all_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    client = site.client(BASE)
    assert client.put("/connectors/one/config", json=CONFIG).status_code == 201
    monkeypatch.setattr(budget, "MAX_BYTES", 1500)
    topics = ",".join(f"topic-{number}" for number in range(100))
    answer = client.put("/connectors/two/config", json={**CONFIG, "topics": topics})
    assert (answer.status_code, "bytes of configuration" in answer.json()["message"]) == (403, True)
    assert client.get("/connectors").json() == ["one"]


def test_connector_beyond_the_number_of_all_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MAX_CONNECTORS", 1)
    client = site.client(BASE)
    site.add_file("filed", {**CONFIG, "name": "filed"})  # which does not count
    assert client.put("/connectors/one/config", json=CONFIG).status_code == 201
    answer = client.post("/connectors", json={"name": "two", "config": CONFIG})
    assert (answer.status_code, "may have 1" in answer.json()["message"]) == (403, True)
    assert client.put("/connectors/one/config", json={**CONFIG, "tasks.max": "3"}).status_code == 200
    assert client.delete("/connectors/one").status_code == 204
    assert client.post("/connectors", json={"name": "two", "config": CONFIG}).status_code == 201


def test_status_names_a_connector_that_is_left_out(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    client = site.client(BASE)
    assert client.put("/connectors/older/config", json=CONFIG).status_code == 201
    site.set_variable(CONNECTOR + "by-hand", StoredConnector("by-hand", CONFIG).to_text())
    assert client.get("/connectors/by-hand/status").json()["connector"]["state"] == "UNASSIGNED"
    monkeypatch.setattr(budget, "MAX_CONNECTORS", 1)
    found = client.get("/connectors?expand=status").json()
    states = {name: one["status"]["connector"]["state"] for name, one in found.items()}
    assert states == {"by-hand": "FAILED", "older": "UNASSIGNED"}
    trace = client.get("/connectors/by-hand/status").json()["connector"]["trace"]
    assert ("left out" in trace, "1" in trace) == (True, True)
    assert client.delete("/connectors/by-hand").status_code == 204
