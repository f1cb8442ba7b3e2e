"""Which branch of a union a value is of: unions have no mark in JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.typed_json.scalars import WHOLE, Read
from floe_job.exceptions import Unconvertible

NOT: Final = -1
_SIMPLE: Final = 1 << 30


@dataclass(frozen=True)
class Branch:
    """A branch of a union. ``fields``: the names of a struct's."""

    name: str
    schema: ConnectSchema
    read: Read
    is_union: bool
    fields: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", frozenset(name for name, _ in self.schema.fields))

    def fits(self, value: Any) -> int:
        """Return how well a value fits: -1 not at all, else the fields of an object that the struct has, or more."""
        kind = self.schema.kind
        if kind is Kind.STRUCT and self.is_union:
            return NOT if self._error(value) else _SIMPLE
        if kind is Kind.STRUCT:
            return len(self.fields & value.keys()) if type(value) is dict else NOT
        if kind is Kind.STRING or type(value) is str:
            # a text may be bytes, where no branch is of texts
            is_text = type(value) is str and kind is Kind.STRING
            return _SIMPLE if is_text else 0 if type(value) is str and kind is Kind.BYTES else NOT
        if kind in WHOLE:
            is_whole = type(value) is int and WHOLE[kind][0] <= value <= WHOLE[kind][1]
            return _SIMPLE if is_whole else NOT
        return NOT if self._error(value) else _SIMPLE

    def _error(self, value: Any) -> bool:
        try:
            self.read(value)
        except Unconvertible:
            return True
        return False
