"""What a record has beside its value."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p, string_at
from typing import Any, Protocol, overload

from floe_job.consume import librdkafka
from floe_job.consume.memory import Lease, Words

Headers = list[tuple[str, bytes | None]]


class Message(Protocol):
    """What is asked of one record."""

    def key(self) -> bytes | None:
        """Return the key as it stands in the log."""

    def timestamp(self) -> int | None:
        """Return the time in epoch ms; None where the broker has none."""

    def headers(self) -> Headers | None:
        """Return the headers in their order; None if they cannot be read: a name in them is not UTF-8."""


class LogMessage:
    """A record that librdkafka holds."""

    def __init__(self, lease: Lease, pointer: int) -> None:
        self._lease = lease
        self._pointer = pointer

    def key(self) -> bytes | None:
        """See Message."""
        message = librdkafka.Message.from_address(self._pointer)
        return string_at(message.key, message.key_len) if message.key else None

    def timestamp(self) -> int | None:
        """See Message."""
        kind = c_int()
        timestamp: int = librdkafka.message_timestamp(self._pointer, byref(kind))
        return None if kind.value == librdkafka.TIMESTAMP_NOT_AVAILABLE else timestamp

    def headers(self) -> Headers | None:
        """See Message."""
        found = c_void_p()
        error = librdkafka.message_headers(self._pointer, byref(found))
        if error:
            return [] if error == librdkafka.NO_HEADERS else None
        headers: Headers = []
        name, value, size = c_char_p(), c_void_p(), c_size_t()
        while not librdkafka.header_get_all(found, len(headers), byref(name), byref(value), byref(size)):
            try:
                text = (name.value or b"").decode()
            except UnicodeDecodeError:
                return None
            headers.append((text, string_at(value.value, size.value) if value.value else None))
        return headers


class Messages(Sequence[Message]):
    """The records of a batch, or some of them, one by one."""

    def __init__(self, lease: Lease, pointers: Words) -> None:
        self._lease = lease
        self._pointers = pointers

    def __len__(self) -> int:
        return len(self._pointers)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Messages: ...
    def __getitem__(self, index: Any) -> Message | Messages:
        if isinstance(index, slice):
            return Messages(self._lease, self._pointers[index])
        return LogMessage(self._lease, int(self._pointers[index]))

    def select(self, indices: Sequence[int]) -> Messages:
        """Return some of them, by index."""
        return Messages(self._lease, self._pointers[list(indices)])
