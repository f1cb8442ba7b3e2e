"""Values between floe's events and the bodies that fastavro reads and writes, type by type."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from functools import lru_cache
from math import isfinite
from typing import Any, TypeAlias
from uuid import UUID

from floe.control.wire.events import DataFile, DataWritten, Event, EventType, FileContent, PartitionType
from floe.control.wire.structs import Struct, WireList, WireMap, WireType, event_struct

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
MAX_FLOAT32 = (2 - 2**-23) * 2.0**127

Converter: TypeAlias = Callable[[Any], Any]


class _Invalid(ValueError):
    """A value that its field cannot represent, with its path."""

    def __init__(self, value: object, wanted: object) -> None:
        super().__init__(value, wanted)
        self.path: list[str] = []
        self.value = value
        self.wanted = wanted

    def __str__(self) -> str:
        return f"{'.'.join(self.path)} is {repr(self.value)[:100]}, not {self.wanted}"


def _integer(bits: int) -> Callable[[object], int]:
    low, beyond = -(1 << bits - 1), 1 << bits - 1

    def check(value: object) -> int:
        if type(value) is int and low <= value < beyond:
            return value
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value < beyond:
            raise _Invalid(value, f"an integer of {bits} bits")
        return int(value)

    return check


def _instance(wanted: type[Any]) -> Converter:
    def check(value: object) -> object:
        if not isinstance(value, wanted):
            raise _Invalid(value, f"a {wanted.__name__}")
        return value

    return check


def _float32(value: object) -> float:
    # fastavro would write what is too large as infinity.
    if not isinstance(value, float) or (isfinite(value) and abs(value) > MAX_FLOAT32):
        raise _Invalid(value, "a float of 32 bits")
    return value


def _nothing(value: object) -> None:
    if value is not None:
        raise _Invalid(value, "None, the only value of the type unknown")


def _micros(value: object) -> int:
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise _Invalid(value, "a datetime with a time zone")
    return (value - EPOCH) // MICROSECOND


def _datetime(value: object) -> datetime:
    try:
        return EPOCH + timedelta(microseconds=_LONG(value))
    except OverflowError as error:
        raise _Invalid(value, "a time between the years 1 and 9999") from error


def _uuid_bytes(value: object) -> bytes:
    if not isinstance(value, UUID):
        raise _Invalid(value, "a UUID")
    return value.bytes


def _bytes_of(length: int) -> Converter:
    def check(value: object) -> bytes:
        if not isinstance(value, bytes) or len(value) != length:
            raise _Invalid(value, f"{length} bytes")
        return value

    return check


def _unscaled(precision: int, scale: int) -> Converter:
    def convert(value: object) -> bytes:
        if not isinstance(value, Decimal) or not value.is_finite():
            raise _Invalid(value, "a finite Decimal")
        # Integers are used from here on: abs() and comparisons of Decimals round to the thread's context.
        scaled = value.scaleb(scale, _EXACT)
        unscaled = int(scaled)
        if scaled != unscaled or abs(unscaled) >= 10**precision:
            raise _Invalid(value, f"a decimal({precision},{scale})")
        return unscaled.to_bytes(decimal_bytes(precision), "big", signed=True)

    return convert


def _scaled(precision: int, scale: int) -> Converter:
    def convert(value: object) -> Decimal:
        unscaled = int.from_bytes(_BYTES(value), "big", signed=True)
        if abs(unscaled) >= 10**precision:
            raise _Invalid(value, f"a decimal({precision},{scale})")
        return Decimal(unscaled).scaleb(-scale, _EXACT)

    return convert


_EXACT = Context(prec=200)
_INT, _LONG = _integer(32), _integer(64)
_BYTES, _TEXT = _instance(bytes), _instance(str)
_UUID_BYTES = _bytes_of(16)

_SAME: Mapping[str, Converter] = {
    "boolean": _instance(bool),
    "int": _INT,
    "long": _LONG,
    "float": _float32,
    "double": _instance(float),
    "string": _TEXT,
    "binary": _BYTES,
    "unknown": _nothing,
    "date": _INT,
    "time": _LONG,
    "timestamp": _LONG,
    "timestamptz": _LONG,
    "timestamp_ns": _LONG,
    "timestamptz_ns": _LONG,
}
"""The check of a value, by type, if both sides represent it alike: times of partitions are plain numbers."""


def _primitive(name: str, outward: bool) -> Converter:
    decimal, length = decimal_of(name), fixed_of(name)
    if decimal is not None:
        return _unscaled(*decimal) if outward else _scaled(*decimal)
    if length is not None:
        return _bytes_of(length)
    if name == "uuid":
        return _uuid_bytes if outward else lambda value: UUID(bytes=_UUID_BYTES(value))
    return _SAME[name]


def _converter(wire: WireType, outward: bool, of_partition: bool = False) -> Converter:
    """Return the function that converts a value to fastavro's (outward), or fastavro's to floe's; it raises _Invalid."""
    match wire:
        case Struct():
            return _to_record(wire) if outward else _from_record(wire)
        case WireList():
            element = _converter(wire.element, outward)
            return lambda values: [element(v) for v in values] if outward else tuple(element(v) for v in _LIST(values))
        case WireMap():
            return _map_converter(wire, _converter(wire.value, outward), outward)
    if wire == "timestamptz" and not of_partition:
        return _micros if outward else _datetime
    return _primitive(wire, outward)


_LIST = _instance(list)


def _map_converter(wire: WireMap, convert: Converter, outward: bool) -> Converter:
    key, value = f"f{wire.key_id}", f"f{wire.value_id}"
    if outward:
        return lambda values: [{key: _INT(k), value: convert(v)} for k, v in values.items()]
    return lambda entries: {_INT(e[key]): convert(e[value]) for e in _LIST(entries)}


def _to_record(wire: Struct) -> Converter:
    """Return the function that makes fastavro's record from a value: a dict by ``f<field id>``.

    An optional list is written with its type named. Otherwise fastavro tries each value before it writes the list.
    """
    members = []
    for field in wire.fields:
        convert = _converter(field.type, outward=True, of_partition=wire.made is tuple)
        named = field.optional and isinstance(field.type, WireList | WireMap)
        members.append((f"f{field.field_id}", field.name, field.optional, named, convert))

    def convert_record(value: Any) -> dict[str, Any]:
        if not isinstance(value, wire.made):
            raise _Invalid(value, f"a {wire.made.__name__}")
        if wire.made is tuple and len(value) != len(members):
            raise _Invalid(value, f"one value for each of the {len(members)} partition fields")
        record: dict[str, Any] = {}
        for place, (key, name, optional, named, convert) in enumerate(members):
            inner = value[place] if wire.made is tuple else getattr(value, name)
            if inner is None and optional:
                record[key] = None
                continue
            converted = _at(name, convert, inner)
            record[key] = ("array", converted) if named else converted
        return record

    return convert_record


def _from_record(wire: Struct) -> Converter:
    """Return the function that makes a value from fastavro's record; missing fields are None if that is allowed."""
    members = []
    for field in wire.fields:
        convert = _converter(field.type, outward=False, of_partition=wire.made is tuple)
        members.append((f"f{field.field_id}", field.name, field.optional, convert))
    make = _MAKERS.get(wire.made) or _maker(wire.made)
    names = [name for _, name, _, _ in members]

    def convert_record(record: Any) -> Any:
        if not isinstance(record, dict):
            raise _Invalid(record, f"a {wire.made.__name__}")
        values = []
        for key, name, optional, convert in members:
            inner = record.get(key)
            values.append(None if inner is None and optional else _at(name, convert, inner))
        return tuple(values) if wire.made is tuple else make(dict(zip(names, values, strict=True)))

    return convert_record


def _maker(made: type[Any]) -> Callable[[dict[str, Any]], Any]:
    return lambda values: made(**values)


def _at(name: str, convert: Converter, value: Any) -> Any:
    try:
        return convert(value)
    except _Invalid as error:
        error.path.insert(0, name)
        raise


def _make_event(values: dict[str, Any]) -> Event:
    number = values.pop("type")
    event = Event(**values)
    if number != event.type:
        raise _Invalid(number, f"{event.type.value}, the type of {type(event.payload).__name__}")
    return event


def _make_file(values: dict[str, Any]) -> DataFile:
    # Java treats a missing content as data.
    number = values["content"] or 0
    if number not in list(FileContent):
        raise _Invalid(number, "a content of Iceberg's files: 0, 1 or 2")
    return DataFile(**values | {"content": FileContent(number)})


_MAKERS: Mapping[type[Any], Callable[[dict[str, Any]], Any]] = {Event: _make_event, DataFile: _make_file}


@lru_cache(maxsize=64)
def encoder(kind: EventType, partition_type: PartitionType) -> Converter:
    return _to_record(event_struct(kind, partition_type))


@lru_cache(maxsize=64)
def decoder(kind: EventType, partition_type: PartitionType) -> Converter:
    convert = _from_record(event_struct(kind, partition_type))

    def with_partition_type(record: Any) -> Event:
        event: Event = convert(record)
        if isinstance(event.payload, DataWritten):
            event = replace(event, payload=replace(event.payload, partition_type=partition_type))
        return event

    return with_partition_type


# Primitive types: Iceberg's names and their Avro types.


LOGICAL: Mapping[str, Mapping[str, object]] = {
    "boolean": {"type": "boolean"},
    "int": {"type": "int"},
    "long": {"type": "long"},
    "float": {"type": "float"},
    "double": {"type": "double"},
    "string": {"type": "string"},
    "binary": {"type": "bytes"},
    "unknown": {"type": "null"},
    "date": {"type": "int", "logicalType": "date"},
    "time": {"type": "long", "logicalType": "time-micros"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
    "timestamptz": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
    "timestamp_ns": {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": False},
    "timestamptz_ns": {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": True},
    "uuid": {"type": "fixed", "name": "uuid_fixed", "size": 16, "logicalType": "uuid"},
}
_DECIMAL = re.compile(r"decimal\(([0-9]{1,2}),([0-9]{1,2})\)")
_FIXED = re.compile(r"fixed\[([0-9]{1,9})\]")
MAX_PRECISION = 38


def decimal_of(name: str) -> tuple[int, int] | None:
    """Return precision and scale if this is the name of a decimal type."""
    match = _DECIMAL.fullmatch(name)
    if match is None or not 1 <= int(match[1]) <= MAX_PRECISION:
        return None
    return int(match[1]), int(match[2])


def fixed_of(name: str) -> int | None:
    """Return the length in bytes if this is the name of a fixed type."""
    match = _FIXED.fullmatch(name)
    return None if match is None else int(match[1])


def decimal_bytes(precision: int) -> int:
    """Return how many bytes Java uses for a decimal of this precision."""
    return int(10**precision).bit_length() // 8 + 1
