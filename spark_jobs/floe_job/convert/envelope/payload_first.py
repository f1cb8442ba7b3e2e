"""Envelopes whose payload comes first: what is behind it is the same for all records of a schema, and is compared.

As ``prefixes`` of records with the schema first. Whether a payload ends there the payload shows: cut elsewhere it is no JSON.
"""

from __future__ import annotations

from typing import Final, NamedTuple

_STYLES: Final = ((b'{"payload":', b',"schema":'), (b'{"payload": ', b', "schema": '))
"""How serializers write what is before the payload, and what is between it and the schema."""


class PayloadFirst(NamedTuple):
    """A record, cut. ``start``, ``end``: of its payload, in bytes. ``between``: what is before its schema."""

    start: int
    end: int
    between: bytes


def cut(record: bytes) -> PayloadFirst | None:
    """Return where the payload of a record may be; None for a record that is written otherwise."""
    for before, between in _STYLES:
        if record.startswith(before):
            end = record.rfind(between)
            if end > len(before):
                return PayloadFirst(len(before), end, between)
    return None
