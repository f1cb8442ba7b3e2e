"""What a task reports to Airflow: secrets hidden, and errors as one sentence without the chain behind it."""

from __future__ import annotations

import logging
import os
import re
import textwrap
import traceback
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from floe.config.secrets.mask import clip, hide, learn, learn_environment, short_in_environment, short_secret, too_short
from floe.exceptions import FloeError, Terminal, with_code, without_code
from floe.operators.dags.forms import readable
from floe.operators.documentation import explained, linked
from floe.operators.exceptions import TaskFailed
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


# An error in a few short lines: what went wrong, the value, the next step.
#
# Airflow shows the end of a failed task's log, and of each line the first characters.


WIDTH = 80
"""Characters of a line that Airflow shows without scrolling."""

_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z`'\"“])")
_QUOTED = re.compile(r"(?<!\w)('[^']+'|\"[^\"]+\"|`[^`]+`)(?!\w)")
_ADVICE = re.compile(
    r"(add|check|choose|clear|compact|configure|continue|correct|create|drop|fix|give|grant|increase|leave|look|lower|make|move|name|put|raise"
    r"|read|remove|rename|repair|replay|report|reset|restore|run|see|set|start|stop|trigger|undo|unpause|use|wait|write)\b",
    re.IGNORECASE,
)
_ITEM = re.compile(r"\n(?:\* |  - )")

MOST_LINES = (2, 2, 3)
"""Lines of each of the three; what is longer is cut. The whole text is in the exception above them."""

MAX_ITEMS = 5
"""Items of a list that are shown, such as the problems of a connector file."""

_NO_VALUE = "The error above tells no more"
_NO_ADVICE = "Clear this task to run it again; the error above has the whole text."
_FINAL = "Correct what is named above. Then clear this task, or trigger the DAG again."
_OF_PARAMS = "Trigger the DAG again with other parameters: this run keeps its own, so clearing it does not help."


class ErrorParts(NamedTuple):
    """The three parts of an error, each on one line of any length."""

    what: str
    value: str
    next_step: str

    @classmethod
    def of(cls, message: str, *, is_final: bool = False, is_of_params: bool = False) -> ErrorParts:
        """Take a message apart: ``what: the value. What state it left. What to do next.``

        ``is_final``: the same try would fail again, which counts where the message does not say what to do; ``is_of_params``:
        by what the run was triggered with.
        """
        first, *rest = _SENTENCE.split(readable(message).strip(" :"))
        what, _, detail = first.partition(": ")
        at = next((at for at, text in enumerate(rest) if _ADVICE.match(text)), None)
        advice, states = ("", rest) if at is None else (" ".join(rest[at:]), rest[:at])
        if at is None and _ADVICE.match(detail):
            advice, detail = detail, ""
        quoted = _QUOTED.search(what)
        # a name that is shown already says less than what happened to the records
        value = detail or " ".join(states) or (quoted[0] if quoted else _NO_VALUE)
        otherwise = _OF_PARAMS if is_of_params else _FINAL if is_final else _NO_ADVICE
        return cls(what.rstrip("."), value.rstrip("."), advice or otherwise)

    def lines(self) -> tuple[list[str], ...]:
        """Return the lines of each part, of at most ``WIDTH`` characters."""
        return tuple(_wrapped(text, most) for text, most in zip(self, MOST_LINES, strict=True))


def short_lines(message: str, *, is_final: bool = False, is_of_params: bool = False) -> tuple[str, ...]:
    """Return the lines of a message: of a :class:`ErrorParts`, with the items of a list in the place of the value."""
    head, *items = _ITEM.split(message)
    if not items:
        what, value, next_step = ErrorParts.of(message, is_final=is_final, is_of_params=is_of_params).lines()
        return (*what, *value, *next_step)
    items[-1], _, rest = items[-1].partition("\n\n")
    brief = ErrorParts.of(f"{head.strip(' :')}. {rest}", is_final=is_final, is_of_params=is_of_params)
    what, _, next_step = brief.lines()
    listed = [line for item in items[:MAX_ITEMS] for line in _wrapped(f"* {readable(item)}", 1)]
    more = [f"… and {len(items) - MAX_ITEMS} more, above"] if len(items) > MAX_ITEMS else []
    return (*what, *listed, *more, *next_step)


def _wrapped(text: str, most: int) -> list[str]:
    """Break a text into lines at blanks; at most so many, of which the last one says that it is cut."""
    return textwrap.wrap(text, WIDTH, max_lines=most, placeholder="…", break_on_hyphens=False) or [""]


# Secrets hidden in what a task's libraries log: Airflow hides them whole, and floe where they were cut or respelled,
# too.


class LogMask(logging.Filter):
    """Hides secrets in each line, before it is written. A traceback with one in it becomes part of the text."""

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            text = record.getMessage()
        except (TypeError, ValueError, LookupError):  # the handler says what is wrong with it
            return True
        message = hide(text)
        if record.exc_info and record.exc_info[1] is not None:
            trace = "".join(traceback.format_exception(record.exc_info[1])).rstrip()
            if hide(trace) != trace:
                message, record.exc_info, record.exc_text = f"{message}\n{hide(trace)}", None, None
        if message != text:
            record.msg, record.args = message, ()
        return True


def mask_logs() -> None:
    """Hide secrets in all that this process logs from here on."""
    for handler in logging.getLogger().handlers:
        if not any(isinstance(one, LogMask) for one in handler.filters):
            handler.addFilter(LogMask())
