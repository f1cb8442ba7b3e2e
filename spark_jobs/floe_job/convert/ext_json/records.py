"""Records as objects of ``schemaId`` and ``payload``: which schema each has, and where its payload is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from floe_job.convert.envelope.envelopes import Member, NoObject, members_of
from floe_job.convert.typed.base import Places
from floe_job.exceptions import VALUE_LENGTH, Malformed, clip

SCHEMA_ID: Final = "schemaId"
PAYLOAD: Final = "payload"

MAX_ID: Final = (1 << 63) - 1

_PREFIX: Final = re.compile(rb'\{"schemaId":(0|[1-9]\d{0,17}),"payload":')
"""As Apicurio's converter writes records; others are parsed."""


class Opened(NamedTuple):
    """A record, taken apart. ``start``, ``end``: of its payload, in its bytes."""

    schema_id: int
    start: int
    end: int


def cut(text: bytearray, start: int, end: int) -> Opened | None:
    """Return what a record is if it is as the converter writes it, by its first bytes and its last; None if not.

    Whether that is so the payload shows: what is left of another record is no JSON.
    """
    found = _PREFIX.match(text, start, end)
    if found is None or end - 1 <= found.end() or text[end - 1] != ord("}"):
        return None
    return Opened(int(found[1]), found.end() - start, end - 1 - start)


def open_record(record: bytes) -> Opened:
    """Parse a record. Of a name that is there twice the last counts, and others are ignored. Raises Malformed."""
    try:
        text, members = members_of(record)
    except NoObject:
        problem = f"it is no object of {SCHEMA_ID} and {PAYLOAD}: it was not written by Apicurio's converter"
        raise Malformed(problem) from None
    last = {member[0]: member for member in members}
    schema_id = _member(last, SCHEMA_ID)[1]
    if type(schema_id) is not int or not 0 <= schema_id <= MAX_ID:
        problem = f"its {SCHEMA_ID} is {clip(repr(schema_id), VALUE_LENGTH)}, and no id of a schema"
        raise Malformed(problem)
    _, _, start, end = _member(last, PAYLOAD)
    begin = len(text[:start].encode())
    return Opened(schema_id, begin, begin + len(text[start:end].encode()))


def _member(found: dict[str, Member], name: str) -> Member:
    if name not in found:
        problem = f"it has no {name}: it was not written by Apicurio's converter"
        raise Malformed(problem)
    return found[name]


@dataclass
class Payloads:
    """The payloads of one schema: the index of each record, and where its payload is in the buffer."""

    places: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def add(self, place: int, begin: int, opened: Opened) -> None:
        """Add the payload of a record that begins at ``begin``."""
        self.places.append(place)
        self.starts.append(begin + opened.start)
        self.ends.append(begin + opened.end)

    def arrays(self) -> tuple[Places, Places, Places]:
        """Return all as arrays."""
        return np.array(self.places, np.int64), np.array(self.starts, np.int64), np.array(self.ends, np.int64)
