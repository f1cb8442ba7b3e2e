"""One admin client in a task for each set of settings, and none that outlives the task."""

from __future__ import annotations

import pytest

from floe.kafka.admin_clients import open_client, shared_clients
from floe.kafka.exceptions import KafkaMisconfigured

CONF = {"bootstrap.servers": "127.0.0.1:1"}
OTHER = {**CONF, "client.id": "other"}


def test_a_task_has_one_client_for_each_set_of_settings() -> None:
    with shared_clients():
        first = open_client(CONF, "a connection")
        assert open_client(dict(CONF), "a connection") is first
        assert open_client(OTHER, "a connection") is not first


def test_the_next_task_has_a_client_of_its_own() -> None:
    with shared_clients():
        first = open_client(CONF, "a connection")
    with shared_clients():
        assert open_client(CONF, "a connection") is not first


def test_a_client_is_shared_until_the_last_task_has_ended() -> None:
    with shared_clients():
        first = open_client(CONF, "a connection")
        with shared_clients():
            pass
        assert open_client(CONF, "a connection") is first


def test_outside_of_tasks_nothing_is_kept() -> None:
    assert open_client(CONF, "a connection") is not open_client(CONF, "a connection")


def test_clients_are_forgotten_after_an_error_too() -> None:
    with pytest.raises(KafkaMisconfigured, match="a connection is not usable"), shared_clients():
        first = open_client(CONF, "a connection")
        open_client({"no.such.setting": "x"}, "a connection")
    assert open_client(CONF, "a connection") is not first
