"""GUIDs of schemas: numbers in their place, as decoders know schemas by numbers of 4 bytes."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from typing import Final
from uuid import UUID

FIRST: Final = 10**9
"""The first number. No registry has as many schemas."""

MAX_GUIDS: Final = 10_000
"""Of one task: whoever writes to the topic chooses them."""

_MAX_NAMED: Final = 2 * MAX_GUIDS
_FREE = itertools.count(FIRST)
_NAMED: OrderedDict[int, str] = OrderedDict()
"""The GUIDs of this process by their numbers, for messages: of no two tasks the same number is another GUID."""


class GuidNumbers:
    """The numbers of one task."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._guids: dict[int, UUID] = {}

    def number_of(self, guid: bytes) -> int | None:
        """Return the number of a GUID of 16 bytes; None where the task has too many of them."""
        found = self._numbers.get(guid)
        if found is None and len(self._numbers) < MAX_GUIDS:
            found = next(_FREE)
            self._numbers[guid], self._guids[found] = found, UUID(bytes=guid)
            _NAMED[found] = str(self._guids[found])
            if len(_NAMED) > _MAX_NAMED:
                _NAMED.popitem(last=False)
        return found

    def guid_of(self, number: int) -> UUID | None:
        """Return the GUID of a number; None for an id."""
        return self._guids.get(number)


def name_of_schema(schema_id: int) -> str:
    """Return an id for messages: the GUID that it is the number of, if it is one."""
    return _NAMED.get(schema_id) or str(schema_id)
