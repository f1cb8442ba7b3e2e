"""Avro's types, with all names resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from floe_job.connect.schema import ABSENT
from floe_job.exceptions import VALUE_LENGTH, UnusableSchema, clip

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
NAMED: Final = frozenset({"record", "enum", "fixed"})

NULL: Final = "null"

MAX_DEPTH: Final = 64
"""Types in each other."""


@dataclass(frozen=True, eq=False)
class AvroType:
    """A type. ``name``: the full name of a record, an enum or a fixed. ``properties``: what Avro itself does not read.

    ``items``: the type of an array's elements, or of a map's values.
    """

    kind: str
    properties: Mapping[str, Any]
    name: str = ""
    fields: tuple[AvroField, ...] = ()
    symbols: tuple[str, ...] = ()
    size: int = 0
    items: AvroType | None = None
    branches: tuple[AvroType, ...] = ()

    @property
    def simple_name(self) -> str:
        """The name without its namespace."""
        return self.name.rpartition(".")[2]

    @property
    def logical(self) -> str:
        """The logical type in lower case; empty where there is none."""
        name = self.properties.get("logicalType")
        return name.lower() if isinstance(name, str) else ""

    @property
    def content(self) -> AvroType:
        """The type of an array's elements, or of a map's values."""
        assert self.items is not None  # noqa: S101 - only of arrays and maps
        return self.items


@dataclass(frozen=True, eq=False)
class AvroField:
    """A field of a record. ``default``: as it is in the schema's JSON, or ABSENT."""

    name: str
    type: AvroType
    default: Any = field(default=ABSENT)


def only_branch(union: AvroType) -> AvroType | None:
    """Return the branch beside null of a union of two; None for another union."""
    others = [branch for branch in union.branches if branch.kind != NULL]
    return others[0] if len(union.branches) == 2 and len(others) == 1 else None


def refuse(problem: str) -> NoReturn:
    """Raise UnusableSchema."""
    raise UnusableSchema(problem)


def shown(value: Any) -> str:
    """Return a value of a schema as messages have it."""
    return clip(repr(value), VALUE_LENGTH)
