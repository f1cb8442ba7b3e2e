"""What a task raises reaches Airflow without secrets, floe's own errors without the chain behind them."""

import traceback
import uuid

import pytest
from airflow.sdk.exceptions import DownstreamTasksSkipped

from floe.catalogs.exceptions import CatalogUnreachable
from floe.config import ConfigError
from floe.config.secrets.mask import learn
from floe.exceptions import Retryable
from floe.operators.failures import FAILURE_KEY, floe_task


def task(error: BaseException, cause: BaseException | None = None) -> BaseException:
    """Return what a task that raises ``error`` tells Airflow."""

    @floe_task
    def execute(_self: object) -> None:
        try:
            raise cause or ValueError("the beginning")
        except ValueError as first:
            raise error from first

    with pytest.raises(BaseException) as caught:
        execute(object())
    return caught.value


@pytest.fixture
def secret() -> str:
    one = f"canary-{uuid.uuid4().hex}"
    learn({"password": one})
    return one


def test_floe_error_reaches_airflow_without_its_chain(secret: str) -> None:
    message = task(CatalogUnreachable(f"no catalog, token {secret}"))
    assert str(message) == "no catalog, token <hidden>. See FLOE-401."
    assert isinstance(message, Retryable)
    text = "".join(traceback.format_exception(message))
    assert "the beginning" not in text and secret not in text
    assert message.__context__ is None and message.__cause__ is None


def test_errors_of_libraries_keep_their_chain_masked(secret: str) -> None:
    message = task(OSError(5, f"refused {secret}"), ValueError(f"cause {secret!r}"))
    text = "".join(traceback.format_exception(message))
    assert "cause" in text and "refused <hidden>" in text
    assert secret not in text


def test_error_that_cannot_be_changed_is_replaced(secret: str) -> None:
    class Stubborn(Exception):
        def __str__(self) -> str:
            return f"always {secret}"

    message = task(Stubborn(), ValueError("x"))
    assert secret not in "".join(traceback.format_exception(message))
    assert "Stubborn: always <hidden>" in str(message)


def test_every_problem_of_a_configuration_is_masked(secret: str) -> None:
    message = task(ConfigError(f"one {secret}", f"two {secret}").located(f"{secret}.json"))
    assert str(message) == "<hidden>.json: 2 errors\n  - one <hidden>\n  - two <hidden>\nSee FLOE-103."


class Left:
    """A task instance that notes what is pushed."""

    def __init__(self) -> None:
        self.pushed: dict[str, object] = {}

    def xcom_push(self, key: str, value: object) -> None:
        self.pushed[key] = value


@pytest.mark.parametrize("error", [RuntimeError("it broke"), ConfigError("it broke")])
def test_each_task_leaves_its_error(error: Exception) -> None:
    @floe_task
    def execute(self: object, context: object) -> None:
        raise error

    left = Left()
    with pytest.raises(type(error)):
        execute(object(), {"ti": left})
    assert "it broke" in str(left.pushed[FAILURE_KEY])


def test_signal_is_no_error_to_leave() -> None:
    @floe_task
    def execute(self: object, context: object) -> None:
        raise DownstreamTasksSkipped(tasks=["write"])

    left = Left()
    with pytest.raises(DownstreamTasksSkipped):
        execute(object(), {"ti": left})
    assert left.pushed == {}
