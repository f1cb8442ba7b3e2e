"""Avro files of Iceberg's metadata: written in one piece, and read whole."""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import fastavro
from fastavro.schema import SchemaParseException
from pyiceberg.avro.codecs import CODEC_MAPPING_ICEBERG_TO_AVRO, KNOWN_CODECS
from pyiceberg.io import FileIO

AvroSchema = dict[str, Any]
"""A schema as fastavro has parsed it."""

_GARBLED: Final = (
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    AttributeError,
    EOFError,
    NotImplementedError,
    SchemaParseException,
    struct.error,
    zlib.error,
)
"""What fastavro and its codecs raise for bytes that are no such file."""


class AvroRecords(NamedTuple):
    """What is in a file: the schema that it was written with, and a dict for each record, by the schema's names."""

    schema: Mapping[str, Any]
    records: list[dict[str, Any]]


def write_records(
    files: FileIO,
    path: str,
    schema: AvroSchema,
    records: Iterable[Mapping[str, Any]],
    metadata: Mapping[str, str],
    codec: str,
) -> int:
    """Write a file of records and return its length in bytes. ``codec``: the name that Iceberg has for it.

    Raises ValueError for a codec that is unknown or whose library is not installed, and what fastavro raises for a value
    that its field cannot represent; nothing is written then.
    """
    whole = io.BytesIO()
    fastavro.writer(whole, schema, records, codec=_codec_name(codec), metadata=dict(metadata))
    data = whole.getvalue()
    with files.new_output(path).create(overwrite=True) as stream:
        stream.write(data)
    return len(data)


def read_records(files: FileIO, path: str) -> AvroRecords:
    """Read a file of records whole. Raises ValueError if it is no such file, and what the store raises."""
    with files.new_input(path).open() as stream:
        data = stream.read()
    try:
        reader = fastavro.reader(io.BytesIO(data))
        schema = json.loads(reader.metadata["avro.schema"])
        return AvroRecords(schema, list(reader))
    except _GARBLED as error:
        msg = f"{path} is not an Avro file that can be read: {type(error).__name__}: {error}"
        raise ValueError(msg) from error


def _codec_name(codec: str) -> str:
    given = codec.strip().lower()
    name = "null" if given == "uncompressed" else CODEC_MAPPING_ICEBERG_TO_AVRO.get(given, given)
    if name not in KNOWN_CODECS:
        msg = (
            f"the table's write.avro.compression-codec is {codec!r}, which is none of gzip, zstd, snappy, uncompressed"
        )
        raise ValueError(msg)
    return name
