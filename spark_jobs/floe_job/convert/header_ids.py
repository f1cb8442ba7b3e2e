"""Ids of schemas that Apicurio's serializers put into headers: moved to where they are otherwise, before the value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from floe.config.converters.base import ConverterSpec
from floe.config.converters.with_registry import registry_of
from floe.config.schema_registry.settings import IdKind, RegistrySettings
from floe.schema_registry.exceptions import SchemaRefused
from floe.schema_registry.schema import RegisteredSchema
from floe_job.convert.context import ConverterContext
from floe_job.convert.guids import FIRST, MAX_GUIDS, GuidNumbers
from floe_job.convert.header_framing import source_of
from floe_job.convert.typed.frames import MAGIC, Framing
from floe_job.convert.typed.schema_source import SchemaSource
from floe_job.source.messages import HeaderKinds, LastHeaders
from floe_job.source.native.memory import Words
from floe_job.source.record_batch import Records
from floe_job.source.values import column_of, values_of

OTHER_KIND: Final = {4: 10**9, 8: 10**18}
"""Added to ids of the kind that is not configured, by the bytes of an id. No registry has as many schemas."""

_HEADER_ID_BYTES: Final = 8
_NO_ID, _WRONG_SIZE, _TOO_LARGE, _NO_BINARY = -2, -3, -4, -5
_REFUSED_IDS: Final = {
    _NO_ID: "its headers name a schema by its hash, or by group, artifact and version: floe reads globalId and contentId",
    _WRONG_SIZE: f"the header with the id of its schema does not have {_HEADER_ID_BYTES} bytes",
    _TOO_LARGE: "no schema can have the id in its header",
    _NO_BINARY: "by a header its encoding is not Avro's binary one",
}
"""Why a record is rejected, by what is put before its value for an id."""

_MESSAGE: Final = ("apicurio.protobuf.type", "apicurio.protobuf.type.key")
"""The headers with the name of a value's message, and of a key's; they have no other names."""

_NOTHING: Final = pa.scalar(b"", pa.large_binary())


class HeaderIds:
    """Reads the ids of one role. The headers are looked at first, as in Java: a value alone may look like one with an id."""

    def __init__(self, settings: RegistrySettings, role: str, *, has_messages: bool = False) -> None:
        """``has_messages``: a header says which message of its schema a record is, as it is with Protobuf."""
        ids = settings.ids
        name_of = partial(ids.header, "key" if role == "key" else "value")
        self._nbytes = ids.nbytes
        kinds = ("contentId", "globalId")
        self._names = (*map(name_of, kinds), name_of("encoding"))
        self._has_messages = has_messages
        if has_messages:
            self._names += (_MESSAGE[role == "key"],)
        self._added = [0 if kind == ids.kind else OTHER_KIND[ids.nbytes] for kind in kinds]
        self._others = [name_of(other) for other in ("contentHash", "groupId", "artifactId", "version")]

    def framed(self, records: Records) -> Records:
        """Return the records with ids before the values of those that have one in a header; others are as they are."""
        headers = records.messages.last_headers(self._names)
        ids = [self._id(last) for last in headers.kinds]
        frames = [b"" if one is None else self._frame(one) for one in ids]
        of = headers.of.copy()
        unnamed = self._unnamed(records, headers, ids)
        if len(unnamed):
            of[unnamed] = len(frames)
            frames.append(self._frame(_NO_ID))
        if not any(frames):
            return records
        values = column_of(records.values)
        if self._has_messages:
            self._name(values, headers, frames, of)
        return with_frames(records, values, frames, of)

    def _unnamed(self, records: Records, headers: HeaderKinds, ids: Sequence[int | None]) -> Words:
        """Return those of the records whose headers name a schema otherwise than by its id."""
        without = [last is not None and one is None for last, one in zip(headers.kinds, ids, strict=True)]
        rows = np.flatnonzero(np.array(without, np.bool_)[headers.of])
        if not len(rows):
            return rows
        others = records.messages.select(rows.tolist()).last_headers(self._others)
        named = [last is not None and any(last) for last in others.kinds]
        return rows[np.array(named, np.bool_)[others.of]]

    def _frame(self, schema_id: int) -> bytes:
        return bytes([MAGIC]) + schema_id.to_bytes(self._nbytes, "big", signed=True)

    def _name(self, values: pa.LargeBinaryArray, headers: HeaderKinds, frames: list[bytes], of: Words) -> None:
        """Add the names of messages to frames, but of values that begin with it, as they do as of version 3."""
        order = np.argsort(of, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(of[order])) + 1):
            kind = int(of[rows[0]])
            last = headers.kinds[kind] if kind < len(headers.kinds) else None
            if last is None or not last[-1] or not frames[kind]:
                continue
            name = _message_name(last[-1])
            has_name = pc.starts_with(values.take(pa.array(rows)), pattern=name)
            of[rows[~has_name.to_numpy(zero_copy_only=False).astype(np.bool_)]] = len(frames)
            frames.append(frames[kind] + name)

    def _id(self, last: LastHeaders | None) -> int | None:
        """Return what goes before the value for an id; None where there is none in the headers."""
        if last is None:
            return None
        *ids, encoding = last[: len(self._added) + 1]
        raw = next(((one, added) for one, added in zip(ids, self._added, strict=True) if one is not None), None)
        if raw is None:
            return None
        if encoding not in (None, b"BINARY"):
            return _NO_BINARY
        nbytes, added = raw
        if len(nbytes) != _HEADER_ID_BYTES:
            return _WRONG_SIZE
        schema_id = int.from_bytes(nbytes, "big", signed=True)
        return schema_id + added if 0 <= schema_id < OTHER_KIND[self._nbytes] else _TOO_LARGE


def with_frames(records: Records, values: pa.LargeBinaryArray, frames: Sequence[bytes], of: Words) -> Records:
    """Return records with ``frames[of[i]]`` before the i-th of their values."""
    before = pa.array(frames, pa.large_binary()).take(pa.array(of))
    return replace(records, encoded=values_of(pc.binary_join_element_wise(before, values, _NOTHING)))


def _message_name(name: bytes) -> bytes:
    """Return the name of a message as Apicurio's serializer writes it before a value."""
    named = b"\x0a" + _varint(len(name)) + name
    return _varint(len(named)) + named


def _varint(number: int) -> bytes:
    found = b""
    while number > 127:
        found, number = found + bytes([number & 127 | 128]), number >> 7
    return found + bytes([number])


def source_of_both_kinds(settings: RegistrySettings, context: ConverterContext) -> SchemaSource:
    """Return a source of the ids that ``HeaderIds`` makes: of both kinds, and of what it refuses."""
    other: IdKind = "contentId" if settings.ids.kind == "globalId" else "globalId"
    own, added = context.schemas(settings), OTHER_KIND[settings.ids.nbytes]
    of_other = context.schemas(replace(settings, ids=replace(settings.ids, kind=other)))

    def schema_of(schema_id: int) -> RegisteredSchema:
        if schema_id in _REFUSED_IDS:
            raise SchemaRefused(_REFUSED_IDS[schema_id], schema_id)
        return of_other(schema_id - added) if schema_id >= added else own(schema_id)

    return schema_of


# GUIDs of schemas that Confluent's serializers put into headers: moved to where ids are otherwise, before the value.
#
# A header has a byte 1 and the 16 bytes of the GUID, or a byte 0 and an id of 4 bytes; with Protobuf the indexes of
# the message follow, as they do before values. Of several headers of the name the last one counts.


HEADERS: Final = {"key": "__key_schema_id", "value": "__value_schema_id"}

_GUID, _GUID_BYTES, _ID_BYTES = 1, 16, 4
_FIRST_MESSAGE: Final = b"\x00"
"""The indexes of the first message: those of a record that is refused are read before its id is looked up."""

_MALFORMED, _TOO_MANY = -2, -3
_REFUSED_GUIDS: Final = {
    _MALFORMED: "the header with its schema has neither a byte 1 and a GUID of 16 bytes, nor a byte 0 and an id of 4 bytes",
    _TOO_MANY: f"its header names a schema by GUID, and records before it have named {MAX_GUIDS} others in one task",
}
"""Why a record is rejected, by what is put before its value for an id."""


class HeaderGuids:
    """Reads the headers of one role. They are looked at first, as in Java: a value alone may look like one with an id."""

    def __init__(self, role: str, guids: GuidNumbers, *, has_messages: bool = False) -> None:
        """``has_messages``: what follows the GUID says which message of its schema a record is."""
        self._name = HEADERS["key" if role == "key" else "value"]
        self._guids = guids
        self._has_messages = has_messages

    def framed(self, records: Records) -> Records:
        """Return the records with ids before the values of those that have the header; others are as they are."""
        headers = records.messages.last_headers((self._name,))
        frames = [self._frame(last) for last in headers.kinds]
        return with_frames(records, column_of(records.values), frames, headers.of) if any(frames) else records

    def _frame(self, last: LastHeaders | None) -> bytes:
        header = last[0] if last is not None else None
        if header is None:
            return b""
        number, indexes = self._number(header)
        frame = bytes([MAGIC]) + number.to_bytes(_ID_BYTES, "big", signed=True)
        return frame + indexes if self._has_messages else frame

    def _number(self, header: bytes) -> tuple[int, bytes]:
        """Return what goes before the value for an id, and the rest of the header."""
        size = 1 + (_GUID_BYTES if header[:1] == bytes([_GUID]) else _ID_BYTES)
        named, indexes = header[1:size], header[size:]
        is_known = header[:1] in (bytes([_GUID]), bytes([MAGIC]))
        if not is_known or len(header) < size + self._has_messages:
            return _MALFORMED, _FIRST_MESSAGE
        if size == 1 + _GUID_BYTES:
            found = self._guids.number_of(named)
            return (_TOO_MANY, _FIRST_MESSAGE) if found is None else (found, indexes)
        schema_id = int.from_bytes(named, "big")
        return (schema_id, indexes) if schema_id < FIRST else (_MALFORMED, _FIRST_MESSAGE)


def source_of_guids(settings: RegistrySettings, context: ConverterContext) -> SchemaSource:
    """Return a source of the ids that ``HeaderGuids`` makes: of ids and of GUIDs, and of what it refuses."""
    by_id = context.schemas(settings)
    by_guid = context.schemas(replace(settings, ids=replace(settings.ids, kind="guid")))

    def schema_of(schema_id: int) -> RegisteredSchema:
        if schema_id in _REFUSED_GUIDS:
            raise SchemaRefused(_REFUSED_GUIDS[schema_id], schema_id)
        guid = context.guids.guid_of(schema_id)
        return by_id(schema_id) if guid is None else by_guid(guid.int)

    return schema_of


# Records that name a schema of a registry: what decoders of every format have in common.


@dataclass(frozen=True)
class RegistryRecords:
    """How records name their schemas, and where these come from. ``stage``: of the records that are rejected."""

    framing: Framing
    schema_of: SchemaSource
    stage: str

    @classmethod
    def of(cls, spec: ConverterSpec, context: ConverterContext) -> Self:
        """Open the registry of a converter. Raises ConfigError and RegistryMisconfigured."""
        settings = registry_of(spec)
        return cls(Framing(settings.ids.nbytes), source_of(settings, context), f"{spec.role}_converter")
