"""Stamps: what every record says of itself, so that whoever finds it can tell where it came from and that it is whole."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol


class Stamp(NamedTuple):
    """One record: no other record of any topic has the same stamp."""

    run: str
    producer: str
    seq: int


COLUMNS = ("run", "producer", "seq", "pad", "crc")
"""The columns of a stamped row."""

FOREIGN = "foreign"
"""The run of rows that another process put into a table."""

BROKEN = Stamp("?", "?", -1)
"""In place of a record whose checksum is wrong: it equals no record that was produced."""

RAW = "raw"
"""The run of records that are not whole in Kafka already: their place tells them apart."""


def raw_stamp(topic: str, topic_id: str, partition: int, offset: int) -> Stamp:
    """Return the stamp for a record that carries no stamp, in one incarnation of a topic."""
    return Stamp(RAW, f"{topic}-{topic_id}-{partition}", offset)


def checksum(stamp: Stamp, pad: str) -> int:
    """Return the CRC-32 of a stamp and what pads it."""
    return zlib.crc32(f"{stamp.run}|{stamp.producer}|{stamp.seq}|{pad}".encode())


def write_stamp(stamp: Stamp, pad: str, more: Mapping[str, Any] | None = None) -> bytes:
    """Return the record's value, as JSON; ``more`` is further fields, which the checksum leaves out."""
    fields = {**stamp._asdict(), "pad": pad, "crc": checksum(stamp, pad), **(more or {})}
    return json.dumps(fields, ensure_ascii=False).encode()


def read_stamp(value: bytes) -> Stamp:
    """Read what :func:`write_stamp` wrote; ``BROKEN`` when it is not whole."""
    try:
        fields = json.loads(value)
        return check_stamp(*(fields[name] for name in COLUMNS))
    except (ValueError, KeyError, TypeError, RecursionError):
        return BROKEN


class StampFormat(Protocol):
    """How the values of a topic carry stamps."""

    def write(self, stamp: Stamp, pad: str, more: Mapping[str, Any] | None = None) -> bytes:
        """Return a record's value; ``more`` is further fields, which the checksum leaves out."""
        ...

    def read(self, value: bytes) -> Stamp:
        """Read what ``write`` wrote; ``BROKEN`` when it is not whole."""
        ...


class JsonStamps:
    """Values of JSON."""

    def write(self, stamp: Stamp, pad: str, more: Mapping[str, Any] | None = None) -> bytes:
        return write_stamp(stamp, pad, more)

    def read(self, value: bytes) -> Stamp:
        return read_stamp(value)


def check_stamp(run: Any, producer: Any, seq: Any, pad: Any, crc: Any) -> Stamp:
    """Return the stamp that five columns hold, ``BROKEN`` when their checksum is another."""
    if not (isinstance(run, str) and isinstance(producer, str) and isinstance(seq, int) and isinstance(pad, str)):
        return BROKEN
    stamp = Stamp(run, producer, seq)
    return stamp if checksum(stamp, pad) == crc else BROKEN
