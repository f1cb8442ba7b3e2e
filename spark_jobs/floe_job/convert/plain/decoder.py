"""Plain values to columns of one schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from floe.config.converters.base import ConverterSpec
from floe.config.converters.charsets import ENCODING
from floe.config.converters.kinds import BOOLEAN, BYTES, NUMBERS, STRING
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.contract.dead_letter import Rejected
from floe_job.convert.context import ConverterContext
from floe_job.convert.plain.texts import UTF_8, PlainColumn, PlainReader, read_bytes, text_reader
from floe_job.convert.typed.base import Places, TypedBatch, TypedPart
from floe_job.convert.typed.table import TypedConverters
from floe_job.exceptions import Malformed
from floe_job.source.values import Packed, packed

_KINDS: Final = {
    STRING: Kind.STRING,
    BYTES: Kind.BYTES,
    BOOLEAN: Kind.BOOLEAN,
    **dict(zip(NUMBERS, (Kind.INT16, Kind.INT32, Kind.INT64, Kind.FLOAT32, Kind.FLOAT64), strict=True)),
}


class PlainDecoder:
    """Decodes values that are one text, number, boolean or sequence of bytes: a ``TypedDecoder``.

    The schema is the optional one of its type, as in Kafka Connect.
    """

    def __init__(self, spec: ConverterSpec) -> None:
        self._schema = ConnectSchema(_KINDS[spec.kind], optional=True)
        self._stage = f"{spec.role}_converter"
        self._read = _reader_of(spec)

    def decode(self, values: Sequence[bytes]) -> TypedBatch:
        """Decode values, none of them None."""
        column = self._read(values)
        parts = (TypedPart(self._schema, column.places, column.values),) if len(column.places) else ()
        rejected = tuple(Rejected(place, self._stage, why, Malformed.__name__) for place, why in column.bad)
        return TypedBatch(parts, rejected, len(column.places))


def plain_converters(spec: ConverterSpec, _: ConverterContext) -> TypedConverters:
    """Make the converters of plain values: whole values for transforms. A table takes none of them."""
    return TypedConverters(lambda: PlainDecoder(spec))


def _reader_of(spec: ConverterSpec) -> PlainReader:
    if spec.kind == STRING:
        return text_reader(spec.options.get(ENCODING, UTF_8))
    if spec.kind == BYTES:
        return read_bytes
    return read_booleans if spec.kind == BOOLEAN else NumberReader(spec.kind)


# Numbers and booleans: of a fixed number of bytes, the highest first.


_DTYPES: Final = {"short": ">i2", "int": ">i4", "long": ">i8", "float": ">f4", "double": ">f8"}


class NumberReader:
    """Reads numbers, as Kafka's ShortSerializer, IntegerSerializer and so on write them."""

    def __init__(self, kind: str) -> None:
        """``kind``: short, int, long, float or double."""
        self._kind = kind
        self._dtype = np.dtype(_DTYPES[kind])

    def __call__(self, values: Sequence[bytes]) -> PlainColumn:
        """Read values, none of them None."""
        buffer = packed(values)
        places, bad = _of_size(buffer, self._dtype.itemsize, self._kind)
        words = np.ndarray((len(buffer.data) - self._dtype.itemsize + 1,), self._dtype, buffer.data.data, 0, (1,))
        numbers = words[buffer.starts[places]].astype(self._dtype.newbyteorder("="))
        return PlainColumn(pa.array(numbers), places, bad)


def read_booleans(values: Sequence[bytes]) -> PlainColumn:
    """Read booleans, none of them None, as Kafka's BooleanSerializer writes them: a byte of 1 or 0."""
    buffer = packed(values)
    places, bad = _of_size(buffer, 1, "boolean")
    found = buffer.data[buffer.starts[places]]
    is_other = found > 1
    if is_other.any():
        wrong = zip(places[is_other].tolist(), found[is_other].tolist(), strict=True)
        bad = sorted(
            [*bad, *((place, f"its byte is {byte:#04x}: a boolean's is 0x00 or 0x01") for place, byte in wrong)]
        )
        places, found = places[~is_other], found[~is_other]
    return PlainColumn(pa.array(found.astype(np.bool_)), places, bad)


def _of_size(buffer: Packed, size: int, kind: str) -> tuple[Places, list[tuple[int, str]]]:
    """Return the values of a size, and those of others with the reason why they are none of the kind."""
    sizes = buffer.ends - buffer.starts
    places = np.flatnonzero(sizes == size)
    others = [] if len(places) == len(sizes) else np.flatnonzero(sizes != size).tolist()
    return places, [(place, _wrong_size(int(sizes[place]), size, kind)) for place in others]


def _wrong_size(has: int, size: int, kind: str) -> str:
    return f"it has {has} bytes: a value of type {kind} has {size}"
