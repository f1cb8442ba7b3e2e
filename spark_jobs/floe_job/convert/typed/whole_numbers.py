"""The ranges of whole numbers, and of the logical types that they carry."""

from __future__ import annotations

from typing import Final, NamedTuple

from floe_job.connect import logical
from floe_job.connect.schema import ConnectSchema, Kind

LONG: Final = (1 << 63) - 1
_DAY_MS: Final = 86_400_000


class WholeRange(NamedTuple):
    """The least and the largest number, what such a number is, and by what it is multiplied for Arrow's type."""

    least: int
    most: int
    what: str
    times: int = 1

    @property
    def is_narrow(self) -> bool:
        """Return whether there are longs that it does not have."""
        return self.most < LONG


_MILLIS: Final = WholeRange(-(LONG // 1000), LONG // 1000, "a timestamp that a table's column can hold", 1000)
_LOGICAL: Final = {
    (Kind.INT32, logical.TIME): WholeRange(0, _DAY_MS - 1, "a time of a day in ms", 1000),
    (Kind.INT64, logical.TIMESTAMP): _MILLIS,
    (Kind.INT64, logical.AVRO_TIME_MICROS): WholeRange(0, _DAY_MS * 1000 - 1, "a time of a day in µs"),
    (Kind.INT64, logical.AVRO_LOCAL_TIMESTAMP_MILLIS): _MILLIS,
}
_WHOLE: Final = {
    Kind.INT8: WholeRange(-(1 << 7), (1 << 7) - 1, "an int8"),
    Kind.INT16: WholeRange(-(1 << 15), (1 << 15) - 1, "an int16"),
    Kind.INT32: WholeRange(-(1 << 31), (1 << 31) - 1, "an int"),
    Kind.INT64: WholeRange(-LONG - 1, LONG, "a long"),
}


def range_of(schema: ConnectSchema) -> WholeRange:
    """Return the range of a schema of int8, int16, int32 or int64."""
    return _LOGICAL.get((schema.kind, schema.name or ""), _WHOLE[schema.kind])
