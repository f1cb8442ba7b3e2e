"""Messages in librdkafka's memory, and the reading of their fields, a column at a time.

A message is a structure in memory. Its value and key are located in the answer of the broker as it was received. None of
it is copied here; it stays valid as long as a reference to its block exists.
"""

from __future__ import annotations

from ctypes import CDLL, Structure, addressof, c_char, c_char_p, c_size_t, c_void_p, sizeof
from typing import Any, Final

import numpy as np

from floe_job.source.native import librdkafka

Words = np.ndarray[Any, np.dtype[np.int64]]

WORD = 8
"""Bytes of a word: of a pointer, a size and an offset."""

PAGE = 4096
"""Bytes of memory that can be read or cannot, together."""

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class Handle:
    """A consumer of librdkafka, with a count of its users. It may be destroyed only after all of its messages."""

    def __init__(self, pointer: int) -> None:
        self.pointer = pointer
        self._users = 1

    def acquire(self) -> None:
        """Count one more user."""
        self._users += 1

    def release(self) -> None:
        """Count one user less; destroy the consumer with the last."""
        self._users -= 1
        if not self._users:
            librdkafka.destroy(self.pointer)


class MessageBlock:
    """The messages of one call, released when no reference to them exists any more."""

    def __init__(self, handle: Handle, pointers: Words) -> None:
        handle.acquire()
        self._handle = handle
        self.pointers = pointers

    def __del__(self) -> None:
        librdkafka.destroy_messages(self.pointers)
        self._handle.release()


BlockRefs = tuple[MessageBlock, ...]
"""The blocks that must be kept while the memory of their messages is read."""


def columns(pointers: Words, *names: str, layout: type[Structure] = librdkafka.NativeMessage) -> list[Words]:
    """Read fields of many messages, each of a word's size or half of one."""
    if not len(pointers):
        return [pointers for _ in names]
    first = int(pointers.min())
    words: Words = np.asarray(_Memory(first, (int(pointers.max()) - first + sizeof(layout)) // WORD, np.int64))
    places = (pointers - first) // WORD
    found = []
    for field in (getattr(layout, name) for name in names):
        whole = words[places + field.offset // WORD]
        found.append(whole if field.size == WORD else whole.view(np.int32)[::2].astype(np.int64))
    return found


def nbytes_between(first: int, end: int) -> Bytes:
    """Return memory as an array of bytes. Only those that are known to belong to a message may be read."""
    return np.asarray(_Memory(first, end - first, np.uint8))


class _Memory:
    """Memory as an array of numbers."""

    def __init__(self, address: int, count: int, kind: type[np.generic]) -> None:
        code = np.dtype(kind).str
        self.__array_interface__ = {"data": (address, True), "shape": (count,), "typestr": code, "version": 3}


# The C library's search in memory, several times as fast as Python's.


def _memmem() -> Any:
    search = getattr(CDLL(None), "memmem", None)
    if search is not None:
        search.restype, search.argtypes = c_void_p, [c_void_p, c_size_t, c_char_p, c_size_t]
    return search


_MEMMEM: Final = _memmem()


def find(text: bytearray, part: bytes, start: int = 0) -> int:
    """Return where ``part`` begins in ``text``, at ``start`` or behind it; -1 where it does not. ``part`` is not empty."""
    if _MEMMEM is None or start + len(part) > len(text):  # not every C library has it
        return text.find(part, start)
    first = addressof(c_char.from_buffer(text))
    found = _MEMMEM(first + start, len(text) - start, part, len(part))
    return -1 if found is None else found - first
