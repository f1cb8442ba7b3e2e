"""Configurations are checked one at a time, few wait, and no body makes a check long: who attacks stops nobody else."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from floe.api.connect import check_queue
from floe.api.connect.check_queue import CheckQueue
from floe.api.connect.http import MAX_CHECKED_BYTES, ConnectError
from floe.api.connect.routes import plugins
from floe.config.document import MAX_KEYS
from stack.progress import wait_until
from tests.support.api.site import Site
from tests.support.cpu import growth
from tests.support.rest.floe_worker import BASE, CONFIG

PATH = "/connector-plugins/IcebergSinkConnector/config/validate"

LINEAR, TRIES = 9, 3
"""How much more four times the size costs at most, which is 16 times as much where the cost is quadratic."""


def waits(queue: CheckQueue, done: list[str], name: str) -> None:
    try:
        with queue.turn():
            done.append(name)
    except ConnectError as error:
        done.append(f"{name}: {error.status}")


def test_check_has_its_turn_alone() -> None:
    queue, done = CheckQueue(max_waiting=1), []
    with queue.turn():
        waiting = threading.Thread(target=waits, args=(queue, done, "second"))
        waiting.start()
        assert wait_until(lambda: queue._places._value == 0, 10)
        waits(queue, done, "third")  # there is no place for it: refused at once
        assert done == ["third: 503"]
    waiting.join(10)
    assert done == ["third: 503", "second"]


def test_wait_for_the_turn_is_bounded() -> None:
    queue, done = CheckQueue(max_waiting=1, max_seconds=0.01), []
    with queue.turn():
        waits(queue, done, "second")
    waits(queue, done, "third")
    assert done == ["second: 503", "third"]


def test_failed_check_gives_its_turn_away() -> None:
    queue, done = CheckQueue(max_waiting=0), []
    with pytest.raises(ValueError, match="broken"), queue.turn():
        raise ValueError(*("broken",))
    waits(queue, done, "second")
    assert done == ["second"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", PATH, CONFIG),
        ("POST", "/connectors", {"name": "one", "config": CONFIG}),
        ("PUT", "/connectors/one/config", CONFIG),
    ],
)
def test_call_is_answered_that_it_is_busy(
    site: Site, monkeypatch: pytest.MonkeyPatch, method: str, path: str, body: object
) -> None:
    queue = CheckQueue(max_waiting=0)
    monkeypatch.setattr(plugins, "CHECKS", queue)
    monkeypatch.setattr("floe.api.connect.connector_changes.CHECKS", queue)
    with queue.turn():
        answer = site.client(BASE).request(method, path, json=body)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, check_queue.RETRY_AFTER)
    assert "one at a time" in answer.json()["message"]
    assert site.raw_values() == []
    assert site.client(BASE).request(method, path, json=body).status_code in (200, 201)


@pytest.mark.parametrize("user", ["viewer", "user"])
@pytest.mark.parametrize("switch", ["true", "false"])
def test_check_needs_the_right_to_make_connectors(
    site: Site, monkeypatch: pytest.MonkeyPatch, user: str, switch: str
) -> None:
    monkeypatch.setenv("FLOE_REST_CONNECTORS", switch)
    answer = site.client(BASE, user).put(PATH, json={**CONFIG, "name": "one"})
    assert (answer.status_code, "Variables" in answer.json()["message"]) == (403, True)


def short_keys() -> dict[str, str]:
    return {f"{number:x}": "" for number in range(20_000)}


def secrets() -> dict[str, str]:
    return {f"iceberg.catalog.h{number}.password": f"password{number}" for number in range(4_500)}


def addresses() -> dict[str, str]:
    return {f"iceberg.catalog.x{number}.uri": "http://evil.example" for number in range(3_900)}


def references() -> dict[str, str]:
    return {f"iceberg.catalog.x{number}": "${env:X}" for number in range(4_900)}


def transforms() -> dict[str, str]:
    names = [f"t{number}" for number in range(3_000)]
    return {"transforms": ",".join(names), **{f"transforms.{name}.type": "org.example.Other" for name in names}}


def misspelt() -> dict[str, str]:
    return {f"iceberg.tables.evolve-schema-enable{number}": "true" for number in range(4_500)}


def texts() -> dict[str, str]:
    return {f"x{number}.password": "http://u:p@h?password=a&" * 80 for number in range(120)}


@pytest.mark.parametrize("more", [short_keys, secrets, addresses, references, transforms, misspelt, texts])
@pytest.mark.parametrize("switch", ["true", "false"])
def test_check_costs_what_the_size_of_its_body_is(
    site: Site, monkeypatch: pytest.MonkeyPatch, more: Callable[[], dict[str, str]], switch: str
) -> None:
    monkeypatch.setenv("FLOE_REST_CONNECTORS", switch)
    keys = list(more().items())

    def errors(count: int) -> int:
        answer = site.client(BASE).put(PATH, json={**CONFIG, "name": "one", **dict(keys[:count])})
        return int(answer.raise_for_status().json()["error_count"])

    assert errors(len(keys)) > 0
    assert growth(errors, len(keys) // 4, TRIES) < LINEAR


def test_answer_ends_with_the_number_of_keys(site: Site) -> None:
    given = {**CONFIG, "name": "one", **{f"{number:x}": "" for number in range(MAX_KEYS)}}
    found = site.client(BASE).put(PATH, json=given).json()
    assert found["error_count"] == 1
    assert len(found["configs"]) < 200  # the keys of floe's table: what was sent is not repeated
    (problem,) = [error for one in found["configs"] for error in one["value"]["errors"]]
    assert f"{len(given)} keys" in problem
    refused = site.client(BASE).put("/connectors/one/config", json=given)
    assert (refused.status_code, f"{len(given)} keys" in refused.json()["message"]) == (400, True)


def test_body_of_a_check_is_bounded(site: Site) -> None:
    answer = site.client(BASE).put(PATH, json={**CONFIG, "topics": "x" * MAX_CHECKED_BYTES})
    assert (answer.status_code, str(MAX_CHECKED_BYTES) in answer.json()["message"]) == (413, True)


@pytest.mark.parametrize("unit", ["password=", "basic ", "a:b@", "eyJa.", "?a=", "http://u:p@", "${", "=", "a ", "\\"])
@pytest.mark.parametrize("key", ["topics", "iceberg.catalog.password", "consumer.override.sasl.jaas.config"])
def test_check_takes_time_as_long_as_a_value(site: Site, key: str, unit: str) -> None:
    def check(nbytes: int) -> None:
        answer = site.client(BASE).put(PATH, json={**CONFIG, "name": "one", key: unit * (nbytes // len(unit))})
        assert answer.status_code == 200

    assert growth(check, 30_000, TRIES) < LINEAR
