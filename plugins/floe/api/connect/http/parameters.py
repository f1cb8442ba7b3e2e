"""Values of paths and queries, read as a Connect worker reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)
_LIMIT: Final = 2**31


def flag(given: Sequence[str] | None, *, default: bool) -> bool:
    """Read a boolean of a query: the first value counts, and all but ``true`` is false."""
    return given[0].lower() == "true" if given and given[0] else default


def task_number(text: object) -> int:
    """Read the number of a task in a path. Raises ValueError, which is answered as a path that is not there."""
    number = int(text) if isinstance(text, str) and _NUMBER.fullmatch(text) else _LIMIT
    if not -_LIMIT <= number < _LIMIT:
        msg = "no number of a task"
        raise ValueError(msg)
    return number
