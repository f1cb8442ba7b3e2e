"""A clock that is wrong: shifts what a process takes for the time of day, as a host with a bad clock would."""

from __future__ import annotations

import datetime as real
import os
import sys
import time

VARIABLE = "FLOE_FAULTS_CLOCK"
"""Seconds, as ``-3600``, by which the step's clock is wrong."""


def shift_by_environment() -> None:
    """Shift this process's clock if the environment asks for it."""
    if os.environ.get(VARIABLE):
        shift(float(os.environ[VARIABLE]))


def shift(seconds: float) -> None:
    """Put the time of day off in all modules of floe and PyIceberg; elapsed time stays as it is."""
    true_time, true_ns = time.time, time.time_ns

    class AnyDatetime(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, real.datetime)

    class Shifted(real.datetime, metaclass=AnyDatetime):
        @classmethod
        def now(cls, tz: real.tzinfo | None = None) -> Shifted:
            return real.datetime.fromtimestamp(true_time() + seconds, tz)  # type: ignore[return-value]

    time.time = lambda: true_time() + seconds
    time.time_ns = lambda: true_ns() + int(seconds * 1e9)
    for name, module in list(sys.modules.items()):
        if (
            name.split(".")[0] in ("floe", "floe_job", "pyiceberg")
            and getattr(module, "datetime", None) is real.datetime
        ):
            module.datetime = Shifted  # type: ignore[attr-defined]
