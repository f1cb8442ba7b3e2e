"""Values in memory as a client holds them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from floe_job.source.values import Values


class Memory:
    """Values with frames of some bytes between them, in as many buffers as are asked for."""

    def __init__(self, values: Sequence[bytes | None], gaps: Sequence[int], buffers: Sequence[int]) -> None:
        texts: dict[int, bytearray] = {buffer: bytearray() for buffer in buffers}
        places = []
        for value, gap, buffer in zip(values, gaps, buffers, strict=True):
            text = texts[buffer]
            text += b'"' * gap  # what would break a text if it stayed
            places.append((buffer, len(text)))
            text += value or b""
        self._held: dict[int, Any] = {
            buffer: (ctypes.c_char * (len(text) + 1)).from_buffer(text + b'"') for buffer, text in texts.items()
        }
        starts = {buffer: ctypes.addressof(held) for buffer, held in self._held.items()}
        addresses = [
            starts[buffer] + at if value is not None else 0 for value, (buffer, at) in zip(values, places, strict=True)
        ]
        self.values = Values(
            (), np.array(addresses, np.int64), np.array([len(value or b"") for value in values], np.int64)
        )


def memory(values: Sequence[bytes | None], gap: int = 10) -> Memory:
    """Place values in one buffer."""
    return Memory(values, [gap] * len(values), [0] * len(values))
