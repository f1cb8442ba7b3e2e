"""Plain values to columns of one schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from floe.config.converters.base import ConverterSpec
from floe.config.converters.charsets import ENCODING
from floe.config.converters.kinds import BOOLEAN, BYTES, NUMBERS, STRING
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.contract.rejected_record import Rejected
from floe_job.convert.context import ConverterContext
from floe_job.convert.plain.numbers import NumberReader, read_booleans
from floe_job.convert.plain.reader import Reader
from floe_job.convert.plain.texts import UTF_8, read_bytes, text_reader
from floe_job.convert.typed.base import TypedBatch, TypedPart
from floe_job.convert.typed.converters import TypedConverters
from floe_job.exceptions import Malformed

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


def _reader_of(spec: ConverterSpec) -> Reader:
    if spec.kind == STRING:
        return text_reader(spec.options.get(ENCODING, UTF_8))
    if spec.kind == BYTES:
        return read_bytes
    return read_booleans if spec.kind == BOOLEAN else NumberReader(spec.kind)
