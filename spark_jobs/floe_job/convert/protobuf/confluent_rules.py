"""What Kafka Connect makes of a message by the rules of Confluent's ``ProtobufData.toConnectSchema``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from floe_job.connect import logical
from floe_job.connect.arrow import MAX_DIGITS, arrow_type
from floe_job.connect.schema import ConnectSchema, Kind, array, map_of
from floe_job.convert.protobuf import rules
from floe_job.convert.protobuf.descriptors import (
    Declaration,
    Declarations,
    Field,
    Message,
    ProtobufOptions,
    connect_parameters,
    is_map,
    refuse,
    shown,
)
from floe_job.convert.protobuf.rules import KINDS, CompiledMessage, Convert, Mask, Member, Notes, enum, filled, number
from floe_job.convert.protobuf.wire import scalar_type
from floe_job.convert.typed.base import Places

# Well-known messages that mean one value: timestamps, dates, times of the day. Decimals are in ``decimals``.
#
# A value that Java refuses rejects its message. Timestamps and times keep their microseconds, further digits are cut
# off: Confluent's converter keeps milliseconds.


Longs = np.ndarray[Any, np.dtype[np.int64]]

_FIRST_SECOND: Final = -62_135_596_800
_LAST_SECOND: Final = 253_402_300_799
_MICROS: Final = 1_000_000
_NANOS: Final = 1_000_000_000
_DAYS: Final = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], np.int64)


def timestamp(path: str) -> Convert:
    """Return the conversion of ``google.protobuf.Timestamp``."""

    def convert(column: pa.StructArray, owners: Places, notes: Notes) -> pa.Array:
        here, (seconds, nanos) = valid(column), parts_of(column, (0, 1))
        bad = (seconds < _FIRST_SECOND) | (seconds > _LAST_SECOND) | (nanos < 0) | (nanos >= _NANOS)
        reject(notes, owners, bad & here, path, lambda i: f"{seconds[i]} s and {nanos[i]} ns are no timestamp")
        seconds[bad] = nanos[bad] = 0
        micros = seconds * _MICROS + nanos // 1000
        return pa.array(micros, pa.int64(), mask=~here).cast(pa.timestamp("us", "UTC"))

    return convert


def day(path: str) -> Convert:
    """Return the conversion of ``google.type.Date``."""

    def convert(column: pa.StructArray, owners: Places, notes: Notes) -> pa.Array:
        here, (years, months, days) = valid(column), parts_of(column, (0, 1, 2))
        bad = (years < 1) | (years > 9999) | (months < 1) | (months > 12) | (days < 1)
        is_leap = (years % 4 == 0) & ((years % 100 != 0) | (years % 400 == 0))
        bad |= days > _DAYS[np.where(bad, 1, months) - 1] + (is_leap & (months == 2))
        reject(notes, owners, bad & here, path, lambda i: f"{years[i]}-{months[i]}-{days[i]} is no date")
        years[bad], months[bad], days[bad] = 1970, 1, 1
        since = ((years - 1970) * 12 + months - 1).astype("M8[M]").astype("M8[D]").astype(np.int64) + days - 1
        return pa.array(since.astype(np.int32), pa.int32(), mask=~here).cast(pa.date32())

    return convert


def time_of_day(path: str) -> Convert:
    """Return the conversion of ``google.type.TimeOfDay``."""

    def convert(column: pa.StructArray, owners: Places, notes: Notes) -> pa.Array:
        here, parts = valid(column), parts_of(column, (0, 1, 2, 3))
        bad = np.zeros(len(here), np.bool_)
        for part, end in zip(parts, (24, 60, 60, _NANOS), strict=True):
            bad |= (part < 0) | (part >= end)
        hours, minutes, seconds, nanos = parts
        reject(
            notes,
            owners,
            bad & here,
            path,
            lambda i: f"{hours[i]}:{minutes[i]}:{seconds[i]} and {nanos[i]} ns are no time of a day",
        )
        micros = ((hours * 60 + minutes) * 60 + seconds) * _MICROS + nanos // 1000
        micros[bad] = 0
        return pa.array(micros, pa.int64(), mask=~here).cast(pa.time64("us"))

    return convert


def parts_of(column: pa.StructArray, places: Sequence[int]) -> list[Longs]:
    """Return the numbers that messages consist of, absent ones as 0."""
    return [_longs(column.field(place)) for place in places]


def _longs(column: pa.Array) -> Longs:
    numbers = column.cast(pa.int64())
    found: Longs = np.array(numbers.fill_null(0) if numbers.null_count else numbers)
    return found


def valid(column: pa.Array) -> Mask:
    """Return which values are there."""
    found: Mask = column.is_valid().to_numpy(zero_copy_only=False)
    return found


def reject(notes: Notes, owners: Places, bad: Mask, path: str, why: Callable[[int], str]) -> None:
    """Note values that mean nothing, if there are any."""
    if bad.any():
        notes.reject(owners, bad, path, why)


UNION: Final = "io.confluent.connect.protobuf.Union"
CONNECT_TYPE: Final = "connect.type"

_SMALL: Final = {"int8": Kind.INT8, "int16": Kind.INT16}
_WRAPPERS: Final = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
_LOGICAL: Final[dict[str, tuple[ConnectSchema, Any]]] = {
    "google.type.Date": (ConnectSchema(Kind.INT32, name=logical.DATE, version=1), day),
    "google.type.TimeOfDay": (ConnectSchema(Kind.INT32, name=logical.TIME, version=1), time_of_day),
    "google.protobuf.Timestamp": (
        ConnectSchema(Kind.INT64, name=logical.TIMESTAMP, version=1),
        timestamp,
    ),
}
_DECIMAL: Final = "confluent.type.Decimal"


class ConfluentRules:
    """Compiles messages that are not recursive."""

    def __init__(self, options: ProtobufOptions) -> None:
        self._options = options
        self._declarations = Declarations()
        self._enums: dict[str, CompiledMessage] = {}

    def message(self, message: Message, path: str = "") -> CompiledMessage:
        """Compile the messages of a type."""
        if message.full_name in _WRAPPERS and self._options.unwrap:
            return self._wrapper(message, path)
        declaration = self._declarations.of(message)
        members: list[Member] = []
        oneofs: list[list[int]] = []
        for index, oneof in declaration.oneofs():
            fields = [(one, self._field(one, declaration, path)) for one in oneof.fields]
            oneofs.append([declaration.place(one) for one, _ in fields])
            if self._options.flatten_unions:
                members += [rules.member(one.name, declaration.place(one), _optional(made)) for one, made in fields]
            else:
                members.append(self._union(index, oneof, fields, declaration))
        for one in message.fields:
            if declaration.oneof(one) is None:
                members.append(rules.member(one.name, declaration.place(one), self._field(one, declaration, path)))
        _check_names([one.name for one in members], message)
        name = message.full_name if self._options.full_names else message.name
        schema = ConnectSchema(Kind.STRUCT, name=name, fields=tuple((one.name, one.schema) for one in members))
        required = [declaration.place(one) for one in message.fields if one.is_required]
        return rules.struct(schema, members, required, [places for places in oneofs if len(places) > 1])

    def _union(
        self, index: int, oneof: Any, fields: list[tuple[Field, CompiledMessage]], declaration: Declaration
    ) -> Member:
        name = f"{oneof.name}_{index}" if self._options.union_index else oneof.name
        title = f"{UNION}.{oneof.full_name if self._options.full_names else oneof.name}"
        inner = tuple((one.name, made.schema) for one, made in fields)
        schema = ConnectSchema(Kind.STRUCT, True, title, fields=inner)
        return rules.union(name, schema, [(declaration.place(one), made) for one, made in fields])

    def _field(self, one: Field, declaration: Declaration, path: str) -> CompiledMessage:
        path = f"{path}.{one.name}" if path else one.name
        if is_map(one):
            return _optional(self._map(one, path))
        made = self._value(one, path)
        if one.is_repeated:
            return rules.repeated(array(replace(made.schema, optional=True), optional=True), made.convert)
        is_filled = one.message_type is None and declaration.oneof(one) is None
        if is_filled and not self._may_be_absent(one, declaration):
            made = CompiledMessage(made.schema, filled(made.convert, one.default_value))
        if self._options.optional_for_nullables:
            is_optional = declaration.has_optional_keyword(one)
        else:
            is_optional = not self._options.wrapper_for_nullables
        return _optional(made) if is_optional else made

    def _may_be_absent(self, one: Field, declaration: Declaration) -> bool:
        if declaration.is_proto3_optional(one):
            return True
        return self._options.optional_for_proto2 and declaration.has_optional_keyword(one)

    def _value(self, one: Field, path: str) -> CompiledMessage:
        """Compile one value of a field, whether it is repeated or not."""
        if one.message_type is not None:
            return _optional(self._inner_message(one, path))
        if one.enum_type is not None:
            return self._enum(one.enum_type)
        wire = scalar_type(one)
        kind = KINDS[wire]
        if kind is Kind.INT32:
            kind = _SMALL.get(connect_parameters(one).get(CONNECT_TYPE, ""), kind)
        schema = ConnectSchema(kind)
        return CompiledMessage(schema, number(wire, schema, path))

    def _inner_message(self, one: Field, path: str) -> CompiledMessage:
        message = one.message_type
        if message.full_name in _LOGICAL:
            schema, make = _LOGICAL[message.full_name]
            return CompiledMessage(schema, make(path))
        if message.full_name == _DECIMAL:
            return _decimal(connect_parameters(one), path)
        if message.full_name in _WRAPPERS and self._options.wrapper_for_nullables:
            return self._wrapper(message, path)
        return self.message(message, path)

    def _wrapper(self, message: Message, path: str) -> CompiledMessage:
        (one,) = message.fields
        wire = scalar_type(one)
        schema = ConnectSchema(KINDS[wire])
        return CompiledMessage(schema, rules.only_field(number(wire, schema, path)))

    def _enum(self, kind: Any) -> CompiledMessage:
        """Compile an enum: once, as it may have many values, and many fields."""
        if kind.full_name not in self._enums:
            self._enums[kind.full_name] = self._made_enum(kind)
        return self._enums[kind.full_name]

    def _made_enum(self, kind: Any) -> CompiledMessage:
        name = kind.full_name if self._options.full_names else kind.name
        as_numbers = self._options.enums_as_numbers
        schema = ConnectSchema(Kind.INT32 if as_numbers else Kind.STRING, True, name)
        return CompiledMessage(schema, enum(kind, as_numbers=as_numbers))

    def _map(self, one: Field, path: str) -> CompiledMessage:
        declaration = self._declarations.of(one.message_type)
        key, value = (self._field(inner, declaration, path) for inner in one.message_type.fields)
        key_field, value_field = one.message_type.fields
        is_message = value_field.message_type is not None
        convert = rules.there(value.convert) if is_message else filled(value.convert, value_field.default_value)
        keys = filled(key.convert, key_field.default_value)
        return rules.mapping(map_of(key.schema, value.schema), keys, convert)


def _optional(made: CompiledMessage) -> CompiledMessage:
    return CompiledMessage(replace(made.schema, optional=True), made.convert)


def _decimal(parameters: dict[str, str], path: str) -> CompiledMessage:
    scale = parameters.get("scale", "")
    named = {logical.SCALE: str(int(scale)) if scale.lstrip("-").isdecimal() else "0"}
    if parameters.get("precision", "").isdecimal():
        named[logical.PRECISION] = parameters["precision"]
    schema = ConnectSchema(Kind.BYTES, name=logical.DECIMAL, version=1, parameters=tuple(named.items()))
    try:
        kind = arrow_type(schema)
    except ValueError as error:
        refuse(f"field {shown(path)} cannot be read: {error}")
    convert: Convert = decimal(kind.scale, path)
    return CompiledMessage(schema, convert)


def _check_names(names: list[str], message: Message) -> None:
    twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
    if twice:
        refuse(f"message {shown(message.full_name)} has two fields named {shown(min(twice))}, one of them its oneof")


# Decimals of Confluent: a message of the unscaled value, a precision and a scale, into the scale of their schema.


_WORD: Final = 8
_POWERS: Final = np.array([10**digits for digits in range(19)], np.int64)


def decimal(scale: int, path: str) -> Convert:
    """Return the conversion of ``confluent.type.Decimal`` into decimals of a scale.

    Those of at most eight bytes that have the scale of their schema are converted together, others one by one.
    """

    def convert(column: pa.StructArray, owners: Places, notes: Notes) -> pa.Array:
        here, (precision, given) = valid(column), parts_of(column, (1, 2))
        low, is_short = _short(column.field(0))
        limits = _POWERS[np.clip(precision, 0, len(_POWERS) - 1)]
        fits = (precision <= 0) | (precision >= len(_POWERS)) | ((low < limits) & (low > -limits))
        values = np.empty((len(here), 2), np.int64)
        values[:, 0], values[:, 1] = low, low >> 63
        bad: Mask = np.zeros(len(here), np.bool_)
        why: dict[int, str] = {}
        for place in np.flatnonzero(here & ~(is_short & fits & (given == scale))).tolist():
            try:
                unscaled = _unscaled(scale, column.field(0)[place].as_py(), int(precision[place]), int(given[place]))
            except ValueError as error:
                unscaled, bad[place], why[place] = 0, True, str(error)
            lower = unscaled & 0xFFFFFFFFFFFFFFFF
            values[place] = lower - (1 << 64) if lower >> 63 else lower, unscaled >> 64
        reject(notes, owners, bad, path, lambda i: why[i])
        kind = pa.decimal128(MAX_DIGITS, scale)
        present = pa.py_buffer(np.packbits(here, bitorder="little"))
        return pa.Array.from_buffers(kind, len(here), [present, pa.py_buffer(values)])

    return convert


def _short(column: pa.LargeBinaryArray) -> tuple[Longs, Mask]:
    """Return the numbers that up to eight bytes are, and which have as many; 0 for others."""
    offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
    starts, ends = offsets[:-1], offsets[1:]
    sizes = ends - starts
    is_short = (sizes > 0) & (sizes <= _WORD)
    data = np.frombuffer(column.buffers()[2] or b"", np.uint8)
    found: Longs = np.zeros(len(column), np.int64)
    for at in range(int(sizes[is_short].max(initial=0))):
        rows = is_short & (sizes > at)
        byte = data[np.where(rows, starts + at, 0)]
        first = byte.astype(np.int8).astype(np.int64)
        found = np.where(rows, first if at == 0 else (found << 8) | byte, found)
    return found, is_short


def _unscaled(scale: int, value: bytes | None, precision: int, given: int) -> int:
    """Return the unscaled value of a decimal in a scale. Raises ValueError where that is not exact."""
    if not value:
        problem = "it is a decimal without a byte"
        raise ValueError(problem)
    if len(value) > 2 * MAX_DIGITS or abs(given) > 2 * MAX_DIGITS:
        problem = f"it is a decimal of more than {MAX_DIGITS} digits"
        raise ValueError(problem)
    found = int.from_bytes(value, "big", signed=True)
    if precision and abs(found) >= 10**precision:
        problem = f"it is a decimal of more digits than its precision of {precision}"
        raise ValueError(problem)
    shift = scale - given
    power: int = 10 ** abs(shift)
    found, left = (found * power, 0) if shift >= 0 else divmod(found, power)
    if left:
        problem = f"it is a decimal of the scale {given}, and its schema has the scale {scale}"
        raise ValueError(problem)
    if abs(found) >= 10**MAX_DIGITS:
        problem = f"it is a decimal of more than {MAX_DIGITS} digits"
        raise ValueError(problem)
    return found
