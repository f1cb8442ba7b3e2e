"""What is found wrong with messages while their columns are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from floe_job.convert.column_limits import MAX_CHUNK_CONSTANTS, MAX_CONSTANTS
from floe_job.convert.typed.base import Places
from floe_job.exceptions import VALUE_LENGTH, clip

Mask = np.ndarray[Any, np.dtype[np.bool_]]


class TooManyConstants(Exception):
    """The names of enums that some messages point at are too large together. The text is about one message."""


class Notes:
    """About each of some messages: whether it is to be read alone, and why it cannot be a row."""

    def __init__(self, count: int) -> None:
        self._most = MAX_CONSTANTS if count == 1 else MAX_CHUNK_CONSTANTS
        self._constants = 0
        self.alone: Mask = np.zeros(count, np.bool_)
        self.reasons: dict[int, str] = {}

    def reject(self, owners: Places, bad: Mask, path: str, why: Callable[[int], str]) -> None:
        """Note values that mean nothing. ``owners``: the message of each value; ``why``: makes the reason of one."""
        for place in np.flatnonzero(bad).tolist():
            where = f"field {clip(path, VALUE_LENGTH)!r}: " if path else ""
            self.reasons.setdefault(int(owners[place]), where + why(place))

    def spend_constants(self, nbytes: int) -> None:
        """Count the bytes of names that will be copied. Raises TooManyConstants."""
        self._constants += nbytes
        if self._constants > self._most:
            problem = f"the value: the names of its enums have more than {MAX_CONSTANTS} bytes"
            raise TooManyConstants(problem)

    def read_alone(self, owners: Places) -> None:
        """Note messages whose bytes may say it otherwise than the columns do."""
        self.alone[owners] = True
