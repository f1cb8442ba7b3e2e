"""A table's metadata files: read, and removed after a commit where the client, not a server, removes them."""

import gc
import logging
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from pydantic_core import from_json
from pyiceberg.exceptions import ValidationError
from pyiceberg.io import InputFile
from pyiceberg.serializers import Compressor
from pyiceberg.table import Table, TableProperties
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.utils.properties import property_as_bool

from floe.config.secrets.mask import clip

log = logging.getLogger(__name__)

DELETE_OLD = TableProperties.METADATA_DELETE_AFTER_COMMIT_ENABLED
_HEAD_BYTES = 16_384
_COMPRESSED = ".gz.metadata.json"
_UUID = re.compile(rb'"table-uuid"\s*:\s*"([0-9a-fA-F-]{36})"')


def read_metadata(file: InputFile) -> TableMetadata:
    """Read a metadata file, as ``FromInputFile.table_metadata`` of PyIceberg does. Raises what ``parse_metadata`` does."""
    decompressor = Compressor.get_compressor(file.location)
    with file.open() as stored, decompressor.stream_decompressor(stored) as plain:
        return parse_metadata(plain.read())


def parse_metadata(content: bytes) -> TableMetadata:
    """Return metadata from JSON.

    It is parsed first and checked afterwards: for thousands of snapshots that takes a third less CPU time than both at
    once. Raises ValidationError for what is no table metadata.
    """
    try:
        with _without_gc():
            return TableMetadataUtil.parse_obj(from_json(content))
    except (ValueError, TypeError) as error:  # TypeError: JSON, but no object
        raise ValidationError(error) from error


@cache
def _has_frozen() -> bool:
    """Return whether this process froze objects before its first commit; to count them takes milliseconds."""
    return gc.get_freeze_count() > 0


@contextmanager
def _without_gc() -> Iterator[None]:
    """Create thousands of objects without garbage collection, and have it take them for old ones.

    Collections of young objects would go through all of them several times within a commit, which takes longer than
    creating them; none is garbage. Objects that this process froze stay frozen.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        if not _has_frozen():
            gc.freeze()
            gc.unfreeze()  # to the oldest generation
    finally:
        if was_enabled:
            gc.enable()


def remove_old_metadata(table: Table, after: TableMetadata) -> None:
    """Remove the metadata files that a commit dropped from the log, if the table's properties say so.

    ``table``: before the commit; ``after``: its metadata after the commit. A file that the log names and that is not
    metadata of this table is kept: a user who may replace a table's metadata could otherwise have floe remove any file.
    """
    kept = {entry.metadata_file for entry in after.metadata_log}
    try:
        if property_as_bool(after.properties, DELETE_OLD, False):
            for entry in table.metadata.metadata_log:
                if entry.metadata_file not in kept and _is_own(table, entry.metadata_file):
                    _delete(table, entry.metadata_file)
    except Exception as error:  # noqa: BLE001 - any store's error; the commit was made, and a remaining file does no harm
        log.warning("old metadata files of table %s are left over: %s", ".".join(table.name()), error)


def _delete(table: Table, location: str) -> None:
    try:
        table.io.delete(location)
    except OSError as error:
        log.warning("metadata file %s is left over: it cannot be removed (%s)", location, error)


def _is_own(table: Table, location: str) -> bool:
    """Say whether a file is metadata of this table, by its first lines."""
    try:
        with table.io.new_input(location).open(seekable=False) as stream:
            head = stream.read(_HEAD_BYTES)
        if location.endswith(_COMPRESSED):
            head = zlib.decompressobj(wbits=31).decompress(head, _HEAD_BYTES)
    except (OSError, ValueError, zlib.error) as error:
        log.warning("metadata file %s is left over: it cannot be read (%s)", location, error)
        return False
    found = _UUID.search(head)
    if found is not None and found[1].decode() == str(table.metadata.table_uuid):
        return True
    log.warning(
        "the metadata log of table %s names %s, which is no metadata of this table: it is not removed. Check who changes the "
        "table's metadata",
        ".".join(table.name()),
        clip(location, 300),
    )
    return False
