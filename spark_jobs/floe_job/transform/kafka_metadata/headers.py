"""Record headers into columns: a list, because headers have an order and may repeat; or a map, if the table has one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any

import pyarrow as pa
from pyiceberg.types import ListType, MapType, StringType, StructType

from floe_job.schema.proposal import ListOf, Proposal, StructOf
from floe_job.transform.kafka_metadata.fill import MetadataColumn, MetadataPlace, convert_each, nbytes, nulls, text_of
from floe_job.transform.record_metadata import Headers
from floe_job.types import converter

KEY, VALUE = "key", "value"
ELEMENT = "element"

HEADERS_PROPOSAL: Proposal = ListOf(StructOf(((KEY, "string"), (VALUE, "string"))))

_Lists = Sequence[Headers | None]
_Filler = Callable[[_Lists], MetadataColumn]


def headers(slot: MetadataPlace) -> _Filler:
    """Compile the filler of a column from the headers of every record. No headers are an empty list, not null."""
    if isinstance(slot.type, ListType) and isinstance(slot.type.element_type, StructType):
        return _list(slot, slot.type.element_type)
    if isinstance(slot.type, MapType) and isinstance(slot.type.key_type, StringType):
        return _map(slot, slot.type)
    convert = converter(slot.type)
    return lambda lists: convert_each(slot, convert, map(plain, lists))


def plain(entries: Headers | None) -> list[dict[str, str | None]]:
    """Write the headers of one record as JSON would hold them."""
    return [{KEY: name, VALUE: None if data is None else text_of(data)} for name, data in entries or ()]


def _list(slot: MetadataPlace, element: StructType) -> _Filler:
    fields = list(slot.arrow.value_type)
    fillers = [
        _part(MetadataPlace.of(column, arrow, *slot.path, ELEMENT))
        for column, arrow in zip(element.fields, fields, strict=True)
    ]

    def fill(lists: _Lists) -> MetadataColumn:
        entries = [entry for entries in lists for entry in entries or ()]
        starts = _starts(lists)
        columns = [filler(entries) for filler in fillers]
        if any(column.refused for column in columns):
            return MetadataColumn(None, _rows(columns, starts))
        inner = pa.StructArray.from_arrays([column.array for column in columns], fields=fields)
        return MetadataColumn(pa.LargeListArray.from_arrays(pa.array(starts, pa.int64()), inner, type=slot.arrow))

    return fill


def _map(slot: MetadataPlace, target: MapType) -> _Filler:
    """Of headers with one name the last one counts, as with Kafka's ``lastHeader``."""
    key = nbytes(MetadataPlace(target.key_type, slot.arrow.key_type, (*slot.path, KEY), required=True))
    value = nbytes(MetadataPlace(target.value_type, slot.arrow.item_type, (*slot.path, VALUE), target.value_required))

    def fill(lists: _Lists) -> MetadataColumn:
        unique = [list(dict(entries or ()).items()) for entries in lists]
        entries = list(chain.from_iterable(unique))
        starts = _starts(unique)
        columns = [key(_names(entries)), value(_data(entries))]
        if any(column.refused for column in columns):
            return MetadataColumn(None, _rows(columns, starts))
        offsets = pa.array(starts, pa.int32())
        return MetadataColumn(pa.MapArray.from_arrays(offsets, columns[0].array, columns[1].array, type=slot.arrow))

    return fill


def _part(slot: MetadataPlace) -> Callable[[list[tuple[str, bytes | None]]], MetadataColumn]:
    """Compile the filler of one field of a header."""
    name = slot.path[-1]
    if name not in (KEY, VALUE):
        nothing = nulls(slot)
        return lambda entries: nothing(len(entries))
    fill, pick = nbytes(slot), _names if name == KEY else _data
    return lambda entries: fill(pick(entries))


def _names(entries: Sequence[tuple[str, bytes | None]]) -> pa.Array:
    return pa.array([name for name, _ in entries], pa.large_string()).cast(pa.large_binary())


def _data(entries: Sequence[tuple[str, bytes | None]]) -> pa.Array:
    return pa.array([data for _, data in entries], pa.large_binary())


def _starts(lists: Sequence[Sequence[Any] | None]) -> list[int]:
    return list(accumulate((len(entries or ()) for entries in lists), initial=0))


def _rows(columns: Sequence[MetadataColumn], starts: list[int]) -> Mapping[int, str]:
    """Assign the refusals of headers to their records, the first of each."""
    rows: dict[int, str] = {}
    for column in columns:
        for index, reason in column.refused.items():
            rows.setdefault(bisect_right(starts, index) - 1, reason)
    return rows
