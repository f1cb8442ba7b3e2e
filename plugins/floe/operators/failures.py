"""What a task reports to Airflow: secrets hidden, and errors as one sentence without the chain behind it."""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, TypeVar, cast

from floe.config.secrets.mask import clip, hide, learn, learn_environment, short_in_environment, short_secret, too_short
from floe.exceptions import FloeError, Terminal, with_code, without_code
from floe.operators.brief import short_lines
from floe.operators.documentation import explained, linked
from floe.operators.exceptions import TaskFailed
from floe.operators.log_mask import mask_logs
from floe.operators.spark.job_folder import remove_abandoned
from floe.operators.status.run_stats import task_time

if TYPE_CHECKING:
    from airflow.sdk import Context

log = logging.getLogger(__name__)

FAILURE_KEY = "failure"
"""The XCom in which a failed task leaves its error."""

OF_PARAMS = frozenset(
    (
        "FLOE-104",
        "FLOE-106",
        "FLOE-112",
        "FLOE-301",
        "FLOE-302",
        "FLOE-303",
        "FLOE-304",
        "FLOE-305",
        "FLOE-306",
        "FLOE-307",
    )
)
"""Codes of errors that are in a run's parameters. A run keeps them: it fails again, however often it is cleared."""

MAX_CHARACTERS = 2000
"""Of an error that is handed from task to task."""

Result = TypeVar("Result")


def keep_secret(settings: Mapping[str, object]) -> None:
    """Learn the secrets among settings: floe hides them from here on, and so does Airflow in this task's log.

    A secret that is too short to be hidden is warned of by its key.
    """
    known = too_short()
    _tell_airflow(learn(settings))
    for key in sorted(too_short() - known):
        log.warning("%s", short_secret(key))


def keep_environment_secret() -> None:
    """Learn the secrets in the environment and in PyIceberg's own configuration."""
    texts = learn_environment(os.environ)
    _tell_airflow(texts)
    for name in short_in_environment(os.environ) if texts else ():
        log.warning("%s", short_secret(name))


def floe_task(execute: Callable[..., Result]) -> Callable[..., Result]:
    """Wrap a task's ``execute``: what it raises reaches Airflow without a secret, floe's own errors without a chain.

    Secrets are hidden in all that is logged meanwhile. Before it begins, what killed tasks left on this host is removed. The
    chain of floe's errors is logged at DEBUG. The error is stored, for the tasks behind and for whoever asks how the
    run is. Of a connector's task, the time is sent to Airflow's metrics.
    Airflow's own signals (skip, defer) pass as they are.
    """

    @wraps(execute)
    def message(self: object, *args: object, **kwargs: object) -> Result:
        from floe.kafka.admin_clients import shared_clients  # its client is nothing for who parses DAGs

        keep_environment_secret()
        mask_logs()
        connector = getattr(self, "_connector", None)
        if connector is not None:
            keep_secret(connector.properties)
        remove_abandoned()
        try:
            with task_time(connector, args[0] if args else kwargs.get("context")), shared_clients():
                return execute(self, *args, **kwargs)
        except FloeError as error:
            log.debug("%s", hide(traceback.format_exc()))
            _leave(error, *args, **kwargs)
            failure: BaseException = without_chain(error.for_people())
        except Exception as error:  # noqa: BLE001 - raised again
            _leave(error, *args, **kwargs)
            failure = without_secrets(error)
        raise failure  # here, where no other error is its context

    return message


def say_failure(context: Context) -> None:
    """End a failed task's log with short lines: what, value, next step, and the error's code. For Airflow to call.

    Airflow shows the end of the log. Its group of lines is closed first: it is shown folded.
    """
    error = context.get("exception")
    if error is None:
        return
    message, code = without_code(hide(str(error)))
    text = message if isinstance(error, FloeError) else f"{type(error).__name__}: {message}"
    log.info("::endgroup::")
    for line in short_lines(text, is_final=isinstance(error, Terminal), is_of_params=code in OF_PARAMS):
        log.error("%s", linked(line))
    if code is not None:
        log.error("%s", explained(code))


def leave_failure(context: Context, error: Exception) -> None:
    """Store the error of a failed task for the tasks behind it."""
    message = _readable(
        with_code(str(error), error.code) if isinstance(error, FloeError) else f"{type(error).__name__}: {error}"
    )
    try:
        context["ti"].xcom_push(key=FAILURE_KEY, value=message)
    except Exception as problem:  # noqa: BLE001 - the error itself counts
        log.warning("The next task will not know why this one failed: %s", hide(str(problem)))


def _leave(error: Exception, context: object = None, **_: object) -> None:
    """Store what failed a task, if it is no signal and the task has a context."""
    from airflow.sdk.exceptions import AirflowRescheduleException, AirflowSkipException, DownstreamTasksSkipped

    is_signal = isinstance(error, AirflowSkipException | AirflowRescheduleException | DownstreamTasksSkipped)
    if isinstance(context, Mapping) and "ti" in context and not is_signal:
        leave_failure(cast("Context", context), error)


def failure_of(context: Context, task_id: str) -> str | None:
    """Return the error of a failed task of this run; None where it stored none. It is input, for people to read."""
    left = context["ti"].xcom_pull(task_ids=task_id, key=FAILURE_KEY)
    return _readable(left) or None if isinstance(left, str) else None


def _readable(text: str) -> str:
    """Return a text as one line of bounded length, without secrets and without characters that terminals obey."""
    return clip(" ".join("".join(c if c.isprintable() else " " for c in hide(text)).split()), MAX_CHARACTERS)


def without_chain(error: FloeError) -> BaseException:
    """Return floe's error with secrets hidden, without its cause, its context and the frames it came through."""
    message = _masked(error)
    message.__cause__ = message.__context__ = None
    return message.with_traceback(None)


def without_secrets(error: BaseException) -> BaseException:
    """Hide secrets in an error and in all of its chain; where an error cannot be changed, TaskFailed replaces it."""
    seen: set[int] = set()

    def masked(one: BaseException) -> BaseException:
        seen.add(id(one))
        for name in ("__cause__", "__context__"):
            inner = getattr(one, name)
            if inner is not None and id(inner) not in seen:
                suppressed = one.__suppress_context__
                setattr(one, name, masked(inner))
                one.__suppress_context__ = suppressed
        return _masked(one)

    return masked(error)


def _masked(error: BaseException) -> BaseException:
    """Hide secrets in what an error was made with; the same error, or TaskFailed where it shows one all the same."""
    if hide(str(error)) == str(error) and hide(repr(error)) == repr(error):
        return error
    error.args = tuple(_hidden(arg) for arg in error.args)
    for name, value in vars(error).items():
        setattr(error, name, _hidden(value))
    if hide(str(error)) == str(error):
        return error
    message = TaskFailed(f"{type(error).__name__}: {hide(str(error))}")
    message.__cause__, message.__context__ = error.__cause__, error.__context__
    message.__suppress_context__ = error.__suppress_context__
    return message.with_traceback(error.__traceback__)


def _hidden(value: object) -> object:
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, bytes):
        return hide(value.decode(errors="replace")).encode()
    if isinstance(value, tuple | list):
        return type(value)(_hidden(item) for item in value)
    if isinstance(value, BaseException):
        return _masked(value)
    return value


def _tell_airflow(texts: frozenset[str]) -> None:
    if not texts:
        return
    from airflow.sdk.log import mask_secret

    mask_secret(sorted(texts))  # type: ignore[arg-type]
