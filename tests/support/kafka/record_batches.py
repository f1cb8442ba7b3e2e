"""Batches of records (format v2) inside the answers of a broker."""

from __future__ import annotations

import struct

MAGIC, CRC, ATTRIBUTES, RECORDS = 16, 17, 21, 61
"""Where parts of a batch lie, from its base offset on."""


def break_batch(answer: bytes, offset: int, *, checksum: bool) -> bytes:
    """Return an answer with the batch at an offset broken in the midst of its records; as it is where it has no such batch.

    ``checksum``: whether the batch's checksum is made to fit.
    """
    start = _find(answer, offset)
    if start is None:
        return answer
    (length,) = struct.unpack_from(">i", answer, start + 8)
    end = start + 12 + length
    broken = bytearray(answer)
    middle = (start + RECORDS + end) // 2
    broken[middle : middle + 8] = bytes(byte_ ^ 0xFF for byte_ in broken[middle : middle + 8])
    if checksum:
        struct.pack_into(">I", broken, start + CRC, crc32c(broken[start + ATTRIBUTES : end]))
    return bytes(broken)


def _find(answer: bytes, offset: int) -> int | None:
    base, start = struct.pack(">q", offset), -1
    while (start := answer.find(base, start + 1)) >= 0:
        if answer[start + MAGIC : start + CRC] == b"\x02":
            (length,) = struct.unpack_from(">i", answer, start + 8)
            end = start + 12 + length
            if length > RECORDS - 12 and end <= len(answer):
                (crc,) = struct.unpack_from(">I", answer, start + CRC)
                if crc == crc32c(answer[start + ATTRIBUTES : end]):
                    return start
    return None


def crc32c(data: bytes | bytearray) -> int:
    """Return Castagnoli's checksum."""
    crc = 0xFFFFFFFF
    for byte_ in data:
        crc = _TABLE[(crc ^ byte_) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _entry(value: int) -> int:
    for _ in range(8):
        value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    return value


_TABLE = [_entry(value) for value in range(256)]
