"""Records in Airflow's variables: kept, read, removed, and never the reason why a task fails."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from floe.operators.status import store
from floe.status.record import StatusRecord
from floe.status.record_codec import PREFIX
from tests.support.status.records import status

RECORD = StatusRecord(status(), rows=3)


def test_record_is_read_as_it_was_kept(variables: Any) -> None:
    assert store.load("one") is None
    assert store.save(RECORD)
    assert store.load("one") == RECORD
    assert list(variables.values) == [f"{PREFIX}one"]


def test_failing_store_is_a_warning(variables: Any, caplog: pytest.LogCaptureFixture) -> None:
    variables.broken = OSError("no API server")
    with caplog.at_level(logging.WARNING):
        assert not store.save(RECORD)
        assert store.load("one") is None
        store.remove_others(["one"])
    assert [one.levelname for one in caplog.records] == ["WARNING"] * 3
    assert "The status of one was not kept, which changes nothing else: OSError: no API server" in caplog.text


@pytest.mark.parametrize("text", ["", "{}", "no JSON", '{"record":1}'])
def test_record_that_cannot_be_read_is_a_warning(variables: Any, caplog: pytest.LogCaptureFixture, text: str) -> None:
    variables.values[f"{PREFIX}one"] = text
    assert store.load("one") is None
    assert "The former status of one is not used" in caplog.text


def test_records_of_removed_connectors_are_removed(variables: Any) -> None:
    others = {"floe.connector.gone": "{}", "FLOE.STATUS.GONE": "of another program"}
    variables.values |= {f"{PREFIX}one": "x", f"{PREFIX}gone": "x", **others}
    store.remove_others(["one"])
    assert variables.values.keys() == {f"{PREFIX}one", *others}
