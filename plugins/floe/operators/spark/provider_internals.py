"""Private names of Airflow's Spark provider 6.3.4: the process that it starts, and the lines that this process writes."""

from __future__ import annotations

import signal
import subprocess
from typing import Any, Final

from floe.private_names import PrivateName

_OPERATOR = "airflow.providers.apache.spark.operators.spark_submit:SparkSubmitOperator"
_HOOK = "airflow.providers.apache.spark.hooks.spark_submit:SparkSubmitHook"
_CONNECTION = "which connection is used is known when the task runs only"
_TEMPLATED = "a templated connection of the operator"
_PROCESS = "the driver and all that it started have to end with the task"
_END = "a hook that ends the driver's children and closes its pipe"
_LINES = "what the driver says goes into the task's log with its level, without secrets"
_LOG = "a public way to be handed the driver's lines"

PRIVATE_NAMES: Final = (
    PrivateName(f"{_OPERATOR}._conn_id", _CONNECTION, _TEMPLATED),
    PrivateName(f"{_OPERATOR}._hook", _PROCESS, _END),
    PrivateName(f"{_OPERATOR}._get_hook", _LINES, _LOG, ("self",)),
    PrivateName(f"{_HOOK}._submit_sp", _PROCESS, _END),
    PrivateName(f"{_HOOK}._process_spark_submit_log", _LINES, _LOG, ("self", "itr")),
    PrivateName(f"{_HOOK}._is_kubernetes", _LINES, _LOG),
    PrivateName(f"{_HOOK}._spark_exit_code", _LINES, _LOG),
)


def submitted(hook: Any) -> subprocess.Popen[str] | None:
    """Return the spark-submit that a hook started; None before it did."""
    return getattr(hook, "_submit_sp", None)


def end_of(code: int | None) -> str:
    """Say how spark-submit ended, by its exit code: a signal's name. A shell, and Java, add 128 to its number."""
    if code is None:
        return "exited"
    number = -code if code < 0 else code - 128
    if number not in set(signal.Signals):
        return f"exited with code {code}"
    killed = ", by which the kernel ends a process when memory is short," if number == signal.SIGKILL else ""
    return f"was ended by {signal.Signals(number).name}{killed}"
