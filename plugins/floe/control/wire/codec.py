"""Events to bytes and back: the wire format of the Iceberg Kafka Connect sink (``AvroEncoderUtil``).

    C2 01   2 bytes, big-endian: n   n bytes: Avro schema, JSON in Java's modified UTF-8   Avro binary body

There is no block framing, no sync marker and no registry; each message contains its schema. Fields are found by id,
so older and newer versions of the sink are read alike, and fields of a later version are ignored.

    event = decode(encode(event))
"""

from __future__ import annotations

import io
import struct

from fastavro import schemaless_reader, schemaless_writer

from floe.control.exceptions import EventDecodeError, EventEncodeError
from floe.control.wire.avro_schema import (
    MAX_TEXT_BYTES,
    Layout,
    from_modified_utf8,
    read_layout,
    read_partition_type,
    schema_text,
    to_modified_utf8,
)
from floe.control.wire.events import DataWritten, Event, EventType, PartitionType
from floe.control.wire.structs import EVENT_OF_CLASS, PAYLOAD
from floe.control.wire.values import decoder, encoder

MAGIC = b"\xc2\x01"
HEAD = struct.Struct(">2sH")

MAX_MESSAGE_BYTES = 2 * 1024 * 1024
"""Twice the default limit of brokers and producers. The worst crafted message of this length costs about 400 MB and a few
seconds; a real one of 1 MiB costs half a second."""

TABULAR = "io.tabular."


def encode(event: Event) -> bytes:
    """Return the event as the Java sink of Iceberg 1.12.0 would write it.

    Raises EventEncodeError for a value that its field cannot represent, and for a schema or message that is too long.
    """
    payload = event.payload
    partition_type = payload.partition_type if isinstance(payload, DataWritten) else PartitionType()
    text = schema_text(event.type, partition_type)
    header = to_modified_utf8(text)
    if len(header) > MAX_TEXT_BYTES:
        message = (
            f"the schema of this {type(payload).__name__} takes {len(header)} bytes, the wire format has room for "
            f"{MAX_TEXT_BYTES}: give the {len(partition_type.fields)} partition fields shorter names"
        )
        raise EventEncodeError(message)
    body = io.BytesIO()
    try:
        record = encoder(event.type, partition_type)(event)
        schemaless_writer(body, read_layout(text).avro, record)
    except (ValueError, TypeError, OverflowError, ArithmeticError, AttributeError, EventDecodeError) as error:
        message = f"{type(payload).__name__} cannot be written: {error}; this is a bug of the caller, not of its data"
        raise EventEncodeError(message) from error
    data = HEAD.pack(MAGIC, len(header)) + header + body.getvalue()
    if len(data) > MAX_MESSAGE_BYTES:
        message = f"{type(payload).__name__} takes {len(data)} bytes, more than {MAX_MESSAGE_BYTES}: announce in parts"
        raise EventEncodeError(message)
    return data


def decode(data: bytes, max_bytes: int = MAX_MESSAGE_BYTES) -> Event:
    """Return the event in a control-topic record's value, written by any version of the sink.

    Raises EventDecodeError for anything else. Time and memory are at most proportional to the message. A message longer
    than `max_bytes` is refused unread (raise it if the brokers allow longer ones).
    """
    header, body = _split(data, max_bytes)
    layout = read_layout(header)
    kind, partition_type = _what(layout)
    stream = io.BytesIO(body)
    try:
        event: Event = decoder(kind, partition_type)(schemaless_reader(stream, layout.avro, None))
    except (EOFError, ValueError, TypeError, KeyError, IndexError, OverflowError, ArithmeticError) as error:
        message = f"{kind.name} cannot be read: {error or type(error).__name__}, body {_shown(body)}; {_FIND}"
        raise EventDecodeError(message) from error
    if stream.tell() != len(body):
        message = f"{kind.name} ends {len(body) - stream.tell()} bytes before its message does; {_FIND}"
        raise EventDecodeError(message)
    return event


_FIND = "it was cut or not written by an Iceberg sink: find out who writes to the control topic"


def _split(data: bytes, max_bytes: int) -> tuple[str, bytes]:
    if len(data) > max_bytes:
        message = f"a message of {len(data)} bytes is longer than floe reads ({max_bytes}); {_FIND}"
        raise EventDecodeError(message)
    if len(data) < HEAD.size or data[:2] != MAGIC:
        message = f"a message that begins with {_shown(data)} is no event, which begins with c201; {_FIND}"
        raise EventDecodeError(message)
    end = HEAD.size + HEAD.unpack_from(data)[1]
    if len(data) < end:
        message = f"a message of {len(data)} bytes ends within its schema of {end - HEAD.size} bytes; {_FIND}"
        raise EventDecodeError(message)
    try:
        return from_modified_utf8(data[HEAD.size : end]), data[end:]
    except UnicodeError as error:
        message = f"the schema in front of the event is not modified UTF-8: {error}; {_FIND}"
        raise EventDecodeError(message) from error


def _shown(data: bytes) -> str:
    return data[:32].hex() + ("…" if len(data) > 32 else "") if data else "(nothing)"


def _what(layout: Layout) -> tuple[EventType, PartitionType]:
    """Return the event type and the partition type of a message, by the names and types in its schema."""
    if layout.name.startswith(TABULAR):
        message = (
            f"this event ({layout.name}) was written by Tabular's sink 0.6.16 or older, whose events floe does not "
            "read: run that connector on 0.6.17 or later until it has committed once, then start again"
        )
        raise EventDecodeError(message)
    payload = layout.field(PAYLOAD)
    kind = None if payload is None else EVENT_OF_CLASS.get(payload.name)
    if payload is None or kind is None:
        name = layout.name if payload is None else payload.name
        message = f"{name!r} is no event that floe knows ({', '.join(EVENT_OF_CLASS)}); {_FIND}, or update floe"
        raise EventDecodeError(message)
    if kind is not EventType.DATA_WRITTEN:
        return kind, PartitionType()
    try:
        return kind, read_partition_type(payload)
    except (ValueError, KeyError) as error:
        message = f"the partition type of a DataWritten cannot be used: {error}; {_FIND}"
        raise EventDecodeError(message) from error
