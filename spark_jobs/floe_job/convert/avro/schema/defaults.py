"""Default values of Avro schemas, as Python values that fit the Arrow type of their schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

from floe_job.connect import logical
from floe_job.connect.arrow import MAX_DIGITS, scale_of
from floe_job.connect.schema import ABSENT, ConnectSchema, Kind
from floe_job.convert.avro.schema.types import AvroType, only_branch

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LOCAL_EPOCH: Final = _EPOCH.replace(tzinfo=None)
_RANGES: Final = {Kind.INT8: 1 << 7, Kind.INT16: 1 << 15, Kind.INT32: 1 << 31, Kind.INT64: 1 << 63}


class _Invalid(ValueError):
    """A default that is no value of its type."""


def default_value(avro: AvroType, schema: ConnectSchema, given: Any) -> Any:
    """Return the value of a default, which is given in JSON.

    ABSENT where Connect has none: for null, and for a default that does not fit its type.
    """
    if given is None:
        return ABSENT
    try:
        found = _value(avro, schema, given)
    except (_Invalid, OverflowError, ValueError):
        return ABSENT
    return ABSENT if found is None else found


def _value(avro: AvroType, schema: ConnectSchema, given: Any) -> Any:
    if avro.kind == "union":
        return _of_union(avro, schema, given)
    return _BY_KIND[avro.kind](avro, schema, given)


def _of_union(avro: AvroType, schema: ConnectSchema, given: Any) -> Any:
    inner = avro.branches[0] if len(avro.branches) == 1 else only_branch(avro)
    if given is None and any(branch.kind == "null" for branch in avro.branches):
        return None
    if inner is not None and schema.kind is not Kind.STRUCT:
        return _value(inner, schema, given)
    names = [name for name, _ in schema.fields]
    branches = [branch for branch in avro.branches if branch.kind != "null"]
    for (name, one), branch in zip(schema.fields, branches, strict=False):
        try:
            return {**dict.fromkeys(names), name: _value(branch, one, given)}
        except _Invalid:
            continue
    raise _Invalid


def _number(avro: AvroType, schema: ConnectSchema, given: Any) -> Any:
    limit = _RANGES[schema.kind]
    if type(given) is not int or not -limit <= given < limit:
        raise _Invalid
    return _LOGICAL.get(schema.name or "", _same)(given)


def _float(avro: AvroType, schema: ConnectSchema, given: Any) -> float:
    if type(given) not in (int, float):
        raise _Invalid
    return float(given)


def _boolean(avro: AvroType, schema: ConnectSchema, given: Any) -> bool:
    if type(given) is not bool:
        raise _Invalid
    return given


def _string(avro: AvroType, schema: ConnectSchema, given: Any) -> str:
    if not isinstance(given, str) or (avro.kind == "enum" and given not in avro.symbols):
        raise _Invalid
    return given


def _bytes(avro: AvroType, schema: ConnectSchema, given: Any) -> bytes | Decimal:
    """Avro writes bytes as text, a character a byte."""
    if not isinstance(given, str):
        raise _Invalid
    found = given.encode("latin-1")
    if avro.kind == "fixed" and len(found) != avro.size:
        raise _Invalid
    if schema.name != logical.DECIMAL:
        return found
    unscaled = int.from_bytes(found, "big", signed=True)
    digits = tuple(map(int, str(abs(unscaled))))
    if not found or len(digits) > MAX_DIGITS:
        raise _Invalid
    return Decimal((int(unscaled < 0), digits, -scale_of(schema)))


def _array(avro: AvroType, schema: ConnectSchema, given: Any) -> Any:
    if schema.kind is Kind.MAP:
        return _entries(avro.content, schema, given)
    if not isinstance(given, list) or schema.element is None:
        raise _Invalid
    return [_value(avro.content, schema.element, one) for one in given]


def _entries(entry: AvroType, schema: ConnectSchema, given: Any) -> list[tuple[Any, Any]]:
    if (
        not isinstance(given, list)
        or not all(isinstance(one, dict) for one in given)
        or not (schema.key and schema.element)
    ):
        raise _Invalid
    types = {field.name: field.type for field in entry.fields}
    return [
        (_value(types["key"], schema.key, one.get("key")), _value(types["value"], schema.element, one.get("value")))
        for one in given
    ]


def _map(avro: AvroType, schema: ConnectSchema, given: Any) -> list[tuple[str, Any]]:
    if not isinstance(given, dict) or schema.element is None:
        raise _Invalid
    return [(key, _value(avro.content, schema.element, one)) for key, one in given.items()]


def _record(avro: AvroType, schema: ConnectSchema, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise _Invalid
    found = {}
    for member, (name, inner) in zip(avro.fields, schema.fields, strict=True):
        one = given.get(name, member.default)
        if one is ABSENT:
            raise _Invalid
        found[name] = _value(member.type, inner, one)
    return found


def _same(given: int) -> Any:
    return given


def _time(micros: int) -> time:
    if not 0 <= micros < 86_400_000_000:
        raise _Invalid
    return (_LOCAL_EPOCH + timedelta(microseconds=micros)).time()


_LOGICAL: Final[Mapping[str, Callable[[int], Any]]] = {
    logical.DATE: lambda days: date(1970, 1, 1) + timedelta(days=days),
    logical.TIME: lambda millis: _time(millis * 1000),
    logical.TIMESTAMP: lambda millis: _EPOCH + timedelta(milliseconds=millis),
    logical.AVRO_TIME_MICROS: _time,
    logical.AVRO_TIMESTAMP_MICROS: lambda micros: _EPOCH + timedelta(microseconds=micros),
    logical.AVRO_LOCAL_TIMESTAMP_MILLIS: lambda millis: _LOCAL_EPOCH + timedelta(milliseconds=millis),
    logical.AVRO_LOCAL_TIMESTAMP_MICROS: lambda micros: _LOCAL_EPOCH + timedelta(microseconds=micros),
}
_BY_KIND: Final[Mapping[str, Callable[[AvroType, ConnectSchema, Any], Any]]] = {
    "boolean": _boolean,
    "int": _number,
    "long": _number,
    "float": _float,
    "double": _float,
    "bytes": _bytes,
    "string": _string,
    "enum": _string,
    "fixed": _bytes,
    "array": _array,
    "map": _map,
    "record": _record,
}
