"""What Kafka Connect makes of an Avro schema: the rules of Confluent's and Apicurio's ``AvroData.toConnectSchema``.

Documentation in the schema is left out, and the version of the registry's subject.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

from floe_job.connect import logical
from floe_job.connect.arrow import MAX_DIGITS, logical_problem, scale_of
from floe_job.connect.schema import ABSENT, ConnectSchema, Kind
from floe_job.convert.avro.schema import MAX_DEPTH, AvroOptions, AvroType, only_branch, refuse, shown

MAX_FIELDS: Final = 5_000
"""Values that one record may have beside the elements of arrays and maps: each use of a type counts."""

MAX_PARAMETERS: Final = 200_000
"""Symbols of enums, and other parameters, of all uses of types together."""

NAMESPACE: Final = "io.confluent.connect.avro"
UNION: Final = f"{NAMESPACE}.Union"
ENUM: Final = f"{NAMESPACE}.Enum"
ENUM_DEFAULT: Final = f"{NAMESPACE}.enum.default"
MAP_ENTRY: Final = "MapEntry"
FIXED_SIZE: Final = "connect.fixed.size"
FIELD_DEFAULT: Final = f"{NAMESPACE}.field.default"

_DEFAULT_NAME: Final = f"{NAMESPACE}.ConnectDefault"
_DEFAULT_PRECISION: Final = 64

_KINDS: Final = {
    "boolean": Kind.BOOLEAN,
    "int": Kind.INT32,
    "long": Kind.INT64,
    "float": Kind.FLOAT32,
    "double": Kind.FLOAT64,
    "bytes": Kind.BYTES,
    "string": Kind.STRING,
    "record": Kind.STRUCT,
    "enum": Kind.STRING,
    "fixed": Kind.BYTES,
    "array": Kind.ARRAY,
    "map": Kind.MAP,
    "union": Kind.STRUCT,
}
_SMALL: Final = {"int8": Kind.INT8, "int16": Kind.INT16}
_CONNECT_NAMES: Final = {
    ("int", "date"): logical.DATE,
    ("int", "time-millis"): logical.TIME,
    ("long", "timestamp-millis"): logical.TIMESTAMP,
    ("bytes", "decimal"): logical.DECIMAL,
    ("fixed", "decimal"): logical.DECIMAL,
}
_AVRO_NAMES: Final = {
    ("long", "time-micros"): logical.AVRO_TIME_MICROS,
    ("long", "timestamp-micros"): logical.AVRO_TIMESTAMP_MICROS,
    ("long", "local-timestamp-millis"): logical.AVRO_LOCAL_TIMESTAMP_MILLIS,
    ("long", "local-timestamp-micros"): logical.AVRO_LOCAL_TIMESTAMP_MICROS,
    ("string", "uuid"): logical.AVRO_UUID,
}
"""What Connect has no name for, and reads as a plain long or string."""


def connect_schema(avro: AvroType, options: AvroOptions) -> ConnectSchema:
    """Return the schema that Connect has for the values of an Avro schema. Raises UnusableSchema."""
    return _Conversion(options).schema(avro)


def is_map_entry(avro: AvroType) -> bool:
    """Return whether a record is an entry of a map: Connect writes maps whose keys are no strings as arrays of entries."""
    internal = avro.properties.get("connect.internal.type")
    return avro.kind == "record" and (avro.name == f"{NAMESPACE}.{MAP_ENTRY}" or internal == MAP_ENTRY)


@dataclass
class _Conversion:
    """The conversion of one schema."""

    options: AvroOptions
    _fields: int = field(default=0)
    _depth: int = field(default=0)
    _parameters: int = field(default=0)

    def schema(self, avro: AvroType, *, optional: bool = False, default: Any = ABSENT) -> ConnectSchema:
        """Convert a type. ``default``: of the field that has it."""
        if avro.kind == "union":
            inner = avro.branches[0] if self._is_singleton(avro) else only_branch(avro)
            if inner is not None:
                return self.schema(inner, optional=optional or not self._is_singleton(avro))
        self._fields += 1
        if self._fields > MAX_FIELDS:
            refuse(f"the schema has more than {MAX_FIELDS} fields")
        if avro.kind == "null":
            refuse("the schema has a null that is not in a union, which Kafka Connect has no type for")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            refuse(f"the schema has more than {MAX_DEPTH} levels")
        self._parameters += len(avro.symbols) + len(avro.properties) + len(self._connect_parameters(avro))
        if self._parameters > MAX_PARAMETERS:
            refuse(f"the schema has more than {MAX_PARAMETERS} symbols and parameters in all uses of its types")
        made = self._with_properties(avro, self._bare(avro), default)
        self._depth -= 1
        return replace(made, optional=made.optional or optional)

    def _is_singleton(self, avro: AvroType) -> bool:
        return len(avro.branches) == 1 and self.options.flatten_singletons

    def _bare(self, avro: AvroType) -> ConnectSchema:
        """Convert a type without its properties."""
        kind = _KINDS[avro.kind]
        if avro.kind == "record":
            fields = ((one.name, self.schema(one.type, default=one.default)) for one in avro.fields)
            return ConnectSchema(kind, fields=tuple(fields))
        if avro.kind == "union":
            return self._union(avro)
        if avro.kind == "map":
            return ConnectSchema(kind, key=ConnectSchema(Kind.STRING), element=self.schema(avro.content))
        if avro.kind == "array":
            if is_map_entry(avro.content):
                return self._map(avro.content)
            return ConnectSchema(kind, element=self.schema(avro.content))
        if avro.kind == "enum":
            return ConnectSchema(kind, parameters=tuple(self._enum_parameters(avro).items()))
        return _scalar(avro, kind)

    def _enum_parameters(self, avro: AvroType) -> dict[str, str]:
        default = avro.properties.get("default")
        is_shown = isinstance(default, str) and self.options.connect_metadata
        shown = {f"{ENUM_DEFAULT}.{avro.simple_name}": str(default)} if is_shown else {}
        return {**shown, ENUM: avro.name} | {f"{ENUM}.{symbol}": symbol for symbol in avro.symbols}

    def _map(self, entry: AvroType) -> ConnectSchema:
        types = {one.name: one.type for one in entry.fields}
        if set(types) != {"key", "value"}:
            refuse(f"the schema has an array of map entries with the fields {sorted(types)}, and not of key and value")
        key = self.schema(types["key"])
        if key.kind in (Kind.STRUCT, Kind.ARRAY, Kind.MAP):
            refuse(f"the schema has a map whose keys are {key.kind.value}s, which floe does not compare")
        return ConnectSchema(Kind.MAP, key=key, element=self.schema(types["value"]))

    def _union(self, avro: AvroType) -> ConnectSchema:
        fields: dict[str, ConnectSchema] = {}
        for branch in avro.branches:
            if branch.kind == "null":
                continue
            name = self.options.branch_name(branch)
            if name in fields:
                refuse(
                    f"the schema has a union with two branches named {shown(name)}: set "
                    "enhanced.avro.schema.support to true, which names them in full"
                )
            fields[name] = self.schema(branch, optional=True)
        has_null = len(fields) < len(avro.branches)
        return ConnectSchema(Kind.STRUCT, has_null, UNION, fields=tuple(fields.items()))

    def _with_properties(self, avro: AvroType, bare: ConnectSchema, default: Any) -> ConnectSchema:
        """Add the name, version, parameters and default that the properties of a type say."""
        parameters = dict(bare.parameters)
        parameters |= self._connect_parameters(avro)
        others = {key: value for key, value in avro.properties.items() if key.startswith("avro")}
        parameters |= {key: one if isinstance(one, str) else json.dumps(one) for key, one in others.items()}
        made = replace(
            bare,
            name=_name(avro, bare.name),
            version=_version(avro, bare.version),
            parameters=tuple(parameters.items()),
        )
        _check(made)
        return self._with_default(avro, made, default)

    def _with_default(self, avro: AvroType, schema: ConnectSchema, given: Any) -> ConnectSchema:
        """Add the default of a field, or else that in the properties of its type."""
        in_properties = avro.properties.get("connect.default")
        default = ABSENT if given is ABSENT else default_value(avro, schema, given)
        if given is not None and default is ABSENT:
            return replace(schema, default=default_value(avro, schema, in_properties))
        if self.options.connect_metadata and in_properties is None:
            schema = replace(schema, parameters=(*schema.parameters, (FIELD_DEFAULT, "true")))
        return replace(schema, default=default)

    def _connect_parameters(self, avro: AvroType) -> Mapping[str, str]:
        found = avro.properties.get("connect.parameters")
        if found is None or not self.options.connect_metadata:
            return {}
        if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
            refuse(f"the schema has connect.parameters that are no texts: {shown(found)}")
        return dict(found)


def _scalar(avro: AvroType, kind: Kind) -> ConnectSchema:
    name = _CONNECT_NAMES.get((avro.kind, avro.logical))
    small = avro.properties.get("connect.type")
    if avro.kind == "int" and isinstance(small, str) and not avro.logical:
        if small not in _SMALL:
            refuse(f"the schema has an int whose connect.type is {shown(small)}, and not int8 or int16")
        kind = _SMALL[small]
    parameters = _decimal(avro) if name == logical.DECIMAL else {}
    if avro.kind == "fixed":
        parameters[FIXED_SIZE] = str(avro.size)
    return ConnectSchema(kind, name=name, version=1 if name else None, parameters=tuple(parameters.items()))


def _decimal(avro: AvroType) -> dict[str, str]:
    scale, precision = avro.properties.get("scale", 0), avro.properties.get("precision")
    parameters = {logical.SCALE: str(scale if type(scale) is int else 0)}
    if precision is not None and type(precision) is not int:
        refuse(f"the schema has a decimal with the precision {shown(precision)}, which is no whole number")
    if precision is not None and precision != _DEFAULT_PRECISION:
        parameters[logical.PRECISION] = str(precision)
    return parameters


def _name(avro: AvroType, given: str | None) -> str | None:
    """Return the name of a type's schema. ``given``: by its logical type."""
    name = avro.properties.get("connect.name")
    if name is None and given is None:
        name = avro.name or _AVRO_NAMES.get((avro.kind, avro.logical))
    if name is None or (isinstance(name, str) and name.startswith(_DEFAULT_NAME)):
        return given
    if not isinstance(name, str) or given not in (None, name):
        refuse(f"the schema has a type with the connect.name {shown(name)}, and its logical type means {given!r}")
    return name


def _version(avro: AvroType, given: int | None) -> int | None:
    version = avro.properties.get("connect.version")
    if version is None:
        return given
    if type(version) is not int or (given is not None and version >= 0 and version != given):
        refuse(
            f"the schema has a type with the connect.version {shown(version)}, where {given or 'a number'} is expected"
        )
    return version if version >= 0 else given


def _check(schema: ConnectSchema) -> None:
    if problem := logical_problem(schema):
        refuse(f"the schema has a type that {problem}")


# Default values of Avro schemas, as Python values that fit the Arrow type of their schema.


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
