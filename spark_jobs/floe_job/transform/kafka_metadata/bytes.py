"""Bytes of record keys and headers, whose format is not declared, into columns."""

from __future__ import annotations

import base64
from collections.abc import Callable

import pyarrow as pa
from pyiceberg.types import BinaryType, FixedType, StringType

from floe_job.exceptions import Unconvertible
from floe_job.transform.kafka_metadata.fill import Column, TemplateField, convert_each
from floe_job.types import converter


def nbytes(slot: TemplateField) -> Callable[[pa.Array], Column]:
    """Compile the filler of a column from a large_binary array.

    A binary or fixed column takes the bytes as they are. Any other takes their text, see ``texts``.
    """
    if isinstance(slot.type, BinaryType):
        return lambda data: slot.finish(data.cast(slot.arrow))
    if isinstance(slot.type, StringType):
        return lambda data: slot.finish(texts(data).cast(slot.arrow))
    if isinstance(slot.type, FixedType):
        exact = _exact(len(slot.type))
        return lambda data: convert_each(slot, exact, data.to_pylist())
    convert = converter(slot.type)
    return lambda data: convert_each(slot, convert, texts(data).to_pylist())


def texts(data: pa.Array) -> pa.Array:
    """Read a large_binary array as large_string: UTF-8, else base64, so that no byte is lost and no record refused."""
    try:
        return data.cast(pa.large_string())
    except pa.ArrowInvalid:
        return pa.array([None if nbytes is None else text_of(nbytes) for nbytes in data.to_pylist()], pa.large_string())


def text_of(data: bytes) -> str:
    """Read bytes as UTF-8, or else write them as base64."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return base64.b64encode(data).decode()


def _exact(length: int) -> Callable[[bytes], bytes]:
    def convert(data: bytes) -> bytes:
        if len(data) != length:
            problem = f"cannot convert {len(data)} bytes to fixed[{length}]"
            raise Unconvertible(problem)
        return data

    return convert
