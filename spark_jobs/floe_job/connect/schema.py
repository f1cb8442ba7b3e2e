"""Schemas of Kafka Connect: what a converter knows about a value beside its bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final


class Kind(Enum):
    """The types of Connect's ``Schema.Type``, by the names that its JSON form uses."""

    BOOLEAN = "boolean"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float"
    FLOAT64 = "double"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"


class _Absent:
    """No default, which differs from a default of null."""

    def __repr__(self) -> str:
        return "ABSENT"

    def __reduce__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()


@dataclass(frozen=True)
class ConnectSchema:
    """The schema of a value.

    ``name``: of the logical type, or of a record, see ``floe_job.connect.logical``. ``default``: a Python value, or ABSENT.
    ``fields``: of a struct. ``key``: of a map's keys. ``element``: of an array's elements, or of a map's values.
    """

    kind: Kind
    optional: bool = False
    name: str | None = None
    version: int | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    default: Any = field(default=ABSENT, hash=False)
    fields: tuple[tuple[str, ConnectSchema], ...] = ()
    key: ConnectSchema | None = None
    element: ConnectSchema | None = None

    def parameter(self, name: str) -> str | None:
        """Return one of the parameters; None where there is none."""
        return dict(self.parameters).get(name)

    @property
    def has_default(self) -> bool:
        """Return whether there is a default, be it null."""
        return self.default is not ABSENT


def struct(fields: Mapping[str, ConnectSchema], *, name: str | None = None, optional: bool = False) -> ConnectSchema:
    """Make the schema of a struct."""
    return ConnectSchema(Kind.STRUCT, optional, name, fields=tuple(fields.items()))


def array(element: ConnectSchema, *, optional: bool = False) -> ConnectSchema:
    """Make the schema of an array."""
    return ConnectSchema(Kind.ARRAY, optional, element=element)


def map_of(key: ConnectSchema, value: ConnectSchema, *, optional: bool = False) -> ConnectSchema:
    """Make the schema of a map."""
    return ConnectSchema(Kind.MAP, optional, key=key, element=value)
