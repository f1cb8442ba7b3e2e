"""GUIDs of schemas that Confluent's serializers put into headers: moved to where ids are otherwise, before the value.

A header has a byte 1 and the 16 bytes of the GUID, or a byte 0 and an id of 4 bytes; with Protobuf the indexes of the
message follow, as they do before values. Of several headers of the name the last one counts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from floe.config.registry.settings import RegistrySettings
from floe.registry.exceptions import UnusableSchema
from floe.registry.schema import RegisteredSchema
from floe_job.convert.context import ConverterContext
from floe_job.convert.guids import FIRST, MAX_GUIDS, GuidNumbers
from floe_job.convert.header_ids import with_frames
from floe_job.convert.typed.frames import MAGIC
from floe_job.convert.typed.schema_source import SchemaSource
from floe_job.source.messages import LastHeaders
from floe_job.source.record_batch import Records
from floe_job.source.value_columns import column_of

HEADERS: Final = {"key": "__key_schema_id", "value": "__value_schema_id"}

_GUID, _GUID_BYTES, _ID_BYTES = 1, 16, 4
_FIRST_MESSAGE: Final = b"\x00"
"""The indexes of the first message: those of a record that is refused are read before its id is looked up."""

_MALFORMED, _TOO_MANY = -2, -3
_REFUSED: Final = {
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
        if schema_id in _REFUSED:
            raise UnusableSchema(_REFUSED[schema_id], schema_id)
        guid = context.guids.guid_of(schema_id)
        return by_id(schema_id) if guid is None else by_guid(guid.int)

    return schema_of
