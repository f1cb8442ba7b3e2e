"""Plans in Airflow: which key seals them, and what is done without one."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from floe.config import Connector
from floe.config.secrets.deployment_key import FERNET_VARIABLE, VARIABLE
from floe.model.exceptions import SealBroken
from floe.operators import stored_plan
from floe.operators import stored_plan as module
from floe.operators.exceptions import PlanMissing
from floe.operators.stored_plan import announced_slices, deployment_key, pulled, sealed
from tests.support.tables.lake import Lake
from tests.support.tables.slices import make_plan

# no words: what a process has once learned as a secret is hidden in the texts of all later tests
KEYS = [f"{number}{'0123456789abcdef' * 2}" for number in range(4)]
KEYS[2] = base64.urlsafe_b64encode(KEYS[2][:32].encode()).decode()


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a deployment without any key."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv(FERNET_VARIABLE, "")
    monkeypatch.setattr(module, "_password", lambda: None)


@pytest.fixture
def connector(tmp_path: Path) -> Connector:
    return Lake(tmp_path).connector()


class Task(SimpleNamespace):
    """A task of a run, with what the others left in XCom."""

    dag_id, run_id = "pizzas", "manual__1"

    def xcom_pull(self, task_ids: str) -> Any:
        return getattr(self, task_ids, None)


def context(**results: Any) -> Any:
    return {"ti": Task(**results)}


def test_key_of_the_variable_goes_before_connection_and_fernet(monkeypatch: pytest.MonkeyPatch) -> None:
    assert deployment_key() is None
    found = []
    monkeypatch.setenv(FERNET_VARIABLE, KEYS[2])
    found.append(deployment_key())
    monkeypatch.setattr(module, "_password", lambda: KEYS[1])
    found.append(deployment_key())
    monkeypatch.setenv(VARIABLE, KEYS[0])
    found.append(deployment_key())
    assert [one.secrets[0].decode() for one in found if one] == [KEYS[2], KEYS[1], KEYS[0]]


@pytest.mark.parametrize("text", ["{FERNET_KEY}", "", "a" * 44, f"{KEYS[2]},short"])
def test_fernet_key_that_is_none_is_no_key(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FERNET_VARIABLE, text)
    assert deployment_key() is None


def test_key_is_the_password_of_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("AIRFLOW_CONN_FLOE_DEFAULT", json.dumps({"conn_type": "generic", "password": KEYS[1]}))
    found = deployment_key()
    assert found is not None
    assert "floe_default" in found.origin
    assert KEYS[1] not in repr(found)


def test_plan_is_read_back_as_it_was_sealed(monkeypatch: pytest.MonkeyPatch, connector: Connector) -> None:
    monkeypatch.setenv(VARIABLE, KEYS[0])
    plan = make_plan((0, 0, 5))
    object.__setattr__(plan, "config", connector.frozen())
    stored = sealed(plan, connector, context())
    found = pulled(context(plan=stored.fields), connector)
    assert (found.plan, found.key) == (plan, stored.key)
    monkeypatch.setenv(VARIABLE, KEYS[3])
    with pytest.raises(SealBroken, match="does not match its seal"):
        pulled(context(plan=stored.fields), connector)
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(SealBroken, match="no deployment key to verify it by"):
        pulled(context(plan=stored.fields), connector)


def test_plan_without_any_key_is_taken_and_warned_of(connector: Connector, caplog: pytest.LogCaptureFixture) -> None:
    plan = make_plan((0, 0, 5))
    object.__setattr__(plan, "config", connector.frozen())
    stored = sealed(plan, connector, context())
    assert stored.fields == plan.to_json()
    assert pulled(context(plan=stored.fields), connector).key is None
    stored_plan.warn_without_key()
    assert "plans are not sealed" in caplog.text


@pytest.mark.parametrize("fields", ["text", [1], {"floe": 2}, {"floe": 1}, {"floe": 2, "plan": 3, "slices": 4}])
def test_plan_that_is_none_is_refused(connector: Connector, fields: Any) -> None:
    with pytest.raises(SealBroken, match="Trigger a new run"):
        pulled(context(plan=fields), connector)


def test_plan_that_is_missing_is_refused(connector: Connector) -> None:
    with pytest.raises(PlanMissing):
        pulled(context(), connector)


@pytest.mark.parametrize("left", [7, [], {}, {"announced": "x"}, {"announced": [1]}, {"announced": ["plan-2/0"]}])
def test_announced_slices_of_another_plan_are_refused(left: Any) -> None:
    with pytest.raises(SealBroken, match="Clear the write task"):
        announced_slices(context(write=left), make_plan((0, 0, 5)))


def test_announced_slices_are_those_of_the_write_task() -> None:
    plan = make_plan((0, 0, 5))
    assert announced_slices(context(write={"announced": ["plan-1/0"]}), plan) == ["plan-1/0"]
    assert announced_slices(context(), plan) == []
