"""Schemas as a registry has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class SchemaText:
    """The text of a schema. ``references``: the name and the text of each that it refers to, in an order in which none
    refers to a later one."""

    text: str
    references: tuple[tuple[str, str], ...] = ()


SchemaSource = Callable[[int], SchemaText]
"""Returns the schema of an id. Raises UnknownSchema for an id that the registry does not have, and RegistryUnavailable."""
