"""Messages as librdkafka lends them, and the reading of their fields, a column at a time.

A message is a structure somewhere in memory, its value and key lie in the answer of the broker as it came. Nothing of that
is copied here; it stays as long as somebody holds the lease.
"""

from __future__ import annotations

from ctypes import sizeof
from typing import Any

import numpy as np

from floe_job.source.native import librdkafka

Words = np.ndarray[Any, np.dtype[np.int64]]

WORD = 8
"""Bytes of a word: of a pointer, a size and an offset."""

_WORDS_PER_MESSAGE = sizeof(librdkafka.Message) // WORD


class Handle:
    """A consumer of librdkafka. It may go only after all of its messages: the last of both ends it."""

    def __init__(self, pointer: int) -> None:
        self.pointer = pointer
        self._users = 1

    def enter(self) -> None:
        """Count one who needs it."""
        self._users += 1

    def leave(self) -> None:
        """Count one less."""
        self._users -= 1
        if not self._users:
            librdkafka.destroy(self.pointer)


class MessageBlock:
    """The messages of one call, given back when nobody refers to them any more."""

    def __init__(self, handle: Handle, pointers: Words) -> None:
        handle.enter()
        self._handle = handle
        self.pointers = pointers

    def __del__(self) -> None:
        librdkafka.destroy_messages(self.pointers)
        self._handle.leave()


BlockRefs = tuple[MessageBlock, ...]
"""What has to be held on to while the memory of its messages is read."""


def columns(pointers: Words, *names: str) -> list[Words]:
    """Read fields of many messages, each of a word's size, except ``err``, which is half of one."""
    if not len(pointers):
        return [pointers for _ in names]
    first = int(pointers.min())
    words = np.asarray(_Memory(first, (int(pointers.max()) - first) // WORD + _WORDS_PER_MESSAGE))
    places = (pointers - first) // WORD
    found = [words[places + getattr(librdkafka.Message, name).offset // WORD] for name in names]
    return [f.view(np.int32)[::2].astype(np.int64) if n == "err" else f for n, f in zip(names, found, strict=True)]


class _Memory:
    """Memory as an array of words, of which only those may be looked at that are known to be a message's."""

    def __init__(self, address: int, words: int) -> None:
        kind = np.dtype(np.int64).str
        self.__array_interface__ = {"data": (address, True), "shape": (words,), "typestr": kind, "version": 3}
