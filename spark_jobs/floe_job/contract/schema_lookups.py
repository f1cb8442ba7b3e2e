"""Which ids of schemas the records of a task had: found in the registry, or not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self
from uuid import UUID

MAX_NAMED: Final = 5
_ID_BITS: Final = 63


@dataclass(frozen=True)
class SchemaLookups:
    """Whether any id was found, and some of those that were not."""

    found: bool = False
    unknown: tuple[int, ...] = ()

    @property
    def are_all_unknown(self) -> bool:
        """Whether records had ids, and none was found."""
        return bool(self.unknown) and not self.found

    @property
    def names(self) -> list[str]:
        """Those that were not found, for messages: ids, or GUIDs, which are larger than any id."""
        return [str(UUID(int=one)) if one >> _ID_BITS else str(one) for one in self.unknown]

    @classmethod
    def of_all(cls, lookups: Iterable[Self]) -> Self:
        """Put those of several tasks together."""
        every = list(lookups)
        unknown = dict.fromkeys(schema_id for one in every for schema_id in one.unknown)
        return cls(any(one.found for one in every), tuple(sorted(unknown)[:MAX_NAMED]))
