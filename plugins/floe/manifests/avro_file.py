"""Avro's object container files: what is in front of the records, and the records in one block.

    "Obj" 01   map: avro.schema, avro.codec and Iceberg's metadata   sync   count, length, records   sync

Source: https://avro.apache.org/docs/1.12.0/specification/#object-container-files
"""

from __future__ import annotations

import io
import json
import os
import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import fastavro
from fastavro import schemaless_writer
from fastavro.schema import SchemaParseException
from pyiceberg.avro.codecs import CODEC_MAPPING_ICEBERG_TO_AVRO, KNOWN_CODECS
from pyiceberg.io import FileIO

_MAGIC: Final = b"Obj\x01"
_HEADER: Final = fastavro.parse_schema({"type": "map", "values": "bytes"})
_SYNC_BYTES: Final = 16
_RAW: Final = -zlib.MAX_WBITS
"""zlib's word for a deflate stream without a header and a checksum of its own, as Avro wants it."""

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


class AvroSchema(NamedTuple):
    """``text``: the schema in the file, as JSON; ``encoder``: the same for fastavro, without logical types, since values
    of them are given as they are written.
    """

    text: bytes
    encoder: Any


class Records(NamedTuple):
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

    Raises ValueError for an unknown codec, and what fastavro raises for a value that its field cannot represent.
    """
    name = _codec_name(codec)
    body, count = io.BytesIO(), 0
    for record in records:
        schemaless_writer(body, schema.encoder, record)
        count += 1
    block, sync = _compressed(name, body.getvalue()), os.urandom(_SYNC_BYTES)
    fields = {key: value.encode() for key, value in metadata.items()}
    header = {**fields, "avro.schema": schema.text, "avro.codec": name.encode()}
    whole = io.BytesIO()
    whole.write(_MAGIC)
    schemaless_writer(whole, _HEADER, header)
    whole.write(sync)
    if count:
        schemaless_writer(whole, "long", count)
        schemaless_writer(whole, "bytes", block)
        whole.write(sync)
    data = whole.getvalue()
    with files.new_output(path).create(overwrite=True) as stream:
        stream.write(data)
    return len(data)


def read_records(files: FileIO, path: str) -> Records:
    """Read a file of records whole. Raises ValueError if it is no such file, and what the store raises."""
    with files.new_input(path).open() as stream:
        data = stream.read()
    try:
        reader = fastavro.reader(io.BytesIO(data))
        schema = json.loads(reader.metadata["avro.schema"])
        return Records(schema, list(reader))
    except _GARBLED as error:
        msg = f"{path} is not an Avro file that can be read: {type(error).__name__}: {error}"
        raise ValueError(msg) from error


def _codec_name(codec: str) -> str:
    name = "null" if codec == "uncompressed" else CODEC_MAPPING_ICEBERG_TO_AVRO.get(codec, codec)
    if name not in KNOWN_CODECS:
        msg = (
            f"the table's write.avro.compression-codec is {codec!r}, which is none of gzip, zstd, snappy, uncompressed"
        )
        raise ValueError(msg)
    return name


def _compressed(name: str, data: bytes) -> bytes:
    if name == "deflate":
        stream = zlib.compressobj(wbits=_RAW)
        return stream.compress(data) + stream.flush()
    codec = KNOWN_CODECS[name]  # type: ignore[index]
    try:
        return data if codec is None else codec.compress(data)[0]
    except ImportError as error:
        msg = f"the table's write.avro.compression-codec is {name!r}, whose library is not installed: set it to gzip or zstd"
        raise ValueError(msg) from error
