"""What becomes of a change event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from floe_job.connect.schema import ConnectSchema

AFTER, BEFORE, OP, SOURCE = "after", "before", "op", "source"
"""Fields of an event."""

DELETED: Final = "__deleted"
"""The field that says of a row whether it was deleted: "true" or "false"."""


@dataclass(frozen=True)
class Outcome:
    """The value, its schema, and what else becomes of a record. ``topic``: None for its own; ``headers``: new ones.

    ``is_change``: it was an event, so that a header may name fields to leave out, but for those that are ``fixed``.
    """

    value: Any
    schema: ConnectSchema | None = None
    topic: str | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    is_change: bool = False
    fixed: tuple[str, ...] = ()
