"""Calls of what connectors name for the end of a run and for late tables. It is imported when it is called, not before."""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from floe.config.exceptions import ConfigError
from floe.config.secrets.mask import clip, hide
from floe.config.sections.dag import ON_FAILURE
from floe.exceptions import FloeError
from floe.operators import task_context
from floe.operators.failures import failure_of

if TYPE_CHECKING:
    from airflow.sdk import Context

    from floe.config.sections.dag import CallbackPath


log = logging.getLogger(__name__)

_SHOWN_CHARACTERS = 300
_TASKS = (task_context.PLAN_TASK, task_context.WRITE_TASK, task_context.COMMIT_TASK)


class Callback:
    """A callback of a DAG as Airflow takes it, which calls the one that a connector names.

    The context is Airflow's, for a run that failed with ``exception``, as tasks have it: floe's error of the task.
    """

    def __init__(self, path: CallbackPath) -> None:
        self._path = path

    def __call__(self, context: Context) -> None:
        """Call it. Raises ConfigError where it cannot be used, and whatever it raises."""
        loaded(self._path)(context if self._path.key != ON_FAILURE else _with_error(context))


def _with_error(context: Any) -> Any:
    """Add the error that a task of a run left. Airflow has none for a run that took too long, for example."""
    try:
        errors = (failure_of(context, task_id) for task_id in _TASKS)
        left = next((error for error in errors if error is not None), None)
    except Exception as error:  # noqa: BLE001 - the callback is called without it
        log.warning("The callback does not get the run's error: %s: %s", type(error).__name__, hide(str(error)))
        left = None
    return context if left is None else {**context, "exception": FloeError(left)}


def of_dag(path: CallbackPath | None) -> Callback | None:
    """Return what a DAG has for a key; None where the connector has none."""
    return None if path is None else Callback(path)


def loaded(path: CallbackPath) -> Callable[[Any], object]:
    """Import a callable, such as a notifier of Airflow's. Raises ConfigError where there is none."""
    try:
        found = getattr(import_module(path.module), path.attribute)
    except Exception as error:
        why = clip(" ".join(hide(str(error)).split()), _SHOWN_CHARACTERS)
        msg = f"{path} cannot be imported: {type(error).__name__}: {why}. Nothing was called. Correct the module or the key"
        raise ConfigError(msg) from error
    if not callable(found) or isinstance(found, type):
        what = "a class" if isinstance(found, type) else f"of type {type(found).__name__}"
        msg = (
            f"{path} is {what}, which takes no context. Nothing was called. Name a function that takes Airflow's context, or "
            "an object such as a notifier"
        )
        raise ConfigError(msg)
    callback: Callable[[Any], object] = found
    return callback
