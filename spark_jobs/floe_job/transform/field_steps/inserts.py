"""Columns of what InsertField inserts, made without the records' values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
from pyiceberg.types import IcebergType, IntegerType, LongType, StringType, TimestampType, TimestamptzType

from floe.config.transforms.kafka_fields import OFFSET, PARTITION, STATIC, TIMESTAMP, TOPIC, InsertField
from floe_job.source.record_batch import Records
from floe_job.transform.field_steps.demand import Demands, Make, Mask
from floe_job.types.temporal import FIRST_MICRO, LAST_MICRO

_Made = tuple[pa.Array, Mask | None]
_TIMES: Final = (TimestampType, TimestamptzType)


def inserted(options: InsertField, wanted: Demands) -> Demands | None:
    """Return what columns need before the transform; None where one of another type is written."""
    demands: Demands | None = wanted
    for part, name, _ in reversed(options.fields):
        if demands is not None:
            demands = demands.written(name, partial(_make, part, options.static_value or ""))
    return demands


def _make(part: str, text: str, kind: IcebergType) -> Make | None:
    if part == STATIC:
        return partial(_text, text) if isinstance(kind, StringType) else None
    if part == TIMESTAMP and isinstance(kind, _TIMES):
        return _moments
    maker = _MAKERS.get((part, type(kind)))
    return maker


def _text(text: str, records: Records) -> _Made:
    return pa.repeat(pa.scalar(text, pa.large_string()), len(records)), None


def _topic(records: Records) -> _Made:
    return _text(records.topic, records)


def _partition(records: Records) -> _Made:
    return pa.repeat(pa.scalar(records.part.range.tp.partition, pa.int32()), len(records)), None


def _offsets(records: Records) -> _Made:
    return pa.array(records.offsets, pa.int64()), None


def _millis(records: Records) -> _Made:
    """Return the records' times; the field of a record without one stays as it is."""
    times = records.timestamps()
    column = times if isinstance(times, pa.Array) else pa.array(times, pa.int64())
    missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    return column, missing


def _moments(records: Records) -> _Made:
    column, missing = _millis(records)
    millis = column.fill_null(0).to_numpy(zero_copy_only=False)
    beyond = (millis < FIRST_MICRO // 1000) | (millis > LAST_MICRO // 1000)
    micros = pa.array(np.where(beyond, 0, millis) * 1000, pa.int64())
    return micros.cast(pa.timestamp("us")), beyond if missing is None else beyond | missing


_MAKERS: Final[Mapping[tuple[str, type[IcebergType]], Callable[[Records], _Made]]] = {
    (TOPIC, StringType): _topic,
    (PARTITION, IntegerType): _partition,
    (PARTITION, LongType): _partition,
    (OFFSET, LongType): _offsets,
    (TIMESTAMP, LongType): _millis,
}
