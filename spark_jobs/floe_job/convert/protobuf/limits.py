"""What is refused of schemas, whatever a registry has."""

from __future__ import annotations

from typing import Final, NoReturn

from floe_job.exceptions import VALUE_LENGTH, UnusableSchema, clip

MAX_FIELDS: Final = 5_000
"""Values that one record may have beside the elements of arrays and maps: each use of a message counts."""

MAX_DEPTH: Final = 64
"""Messages in each other."""


def refuse(problem: str) -> NoReturn:
    """Raise UnusableSchema."""
    raise UnusableSchema(problem)


def shown(value: object) -> str:
    """Return a value of a schema as messages have it."""
    return clip(repr(value), VALUE_LENGTH)
