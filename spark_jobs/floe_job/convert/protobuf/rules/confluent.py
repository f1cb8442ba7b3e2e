"""What Kafka Connect makes of a message by the rules of Confluent's ``ProtobufData.toConnectSchema``.

Left out are documentation, the version of the registry's subject, and parameters that say how to write the value again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from floe_job.connect import logical
from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ConnectSchema, Kind, array, map_of
from floe_job.convert.protobuf.descriptors import (
    Declaration,
    Declarations,
    Field,
    Message,
    connect_parameters,
    is_map,
)
from floe_job.convert.protobuf.limits import refuse, shown
from floe_job.convert.protobuf.options import ProtobufOptions
from floe_job.convert.protobuf.rules import known_messages, structs
from floe_job.convert.protobuf.rules.decimals import decimal
from floe_job.convert.protobuf.rules.scalars import KINDS, Convert, enum, filled, number
from floe_job.convert.protobuf.rules.structs import Compiled, Member
from floe_job.convert.protobuf.wire.schema import scalar_type

UNION: Final = "io.confluent.connect.protobuf.Union"
CONNECT_TYPE: Final = "connect.type"

_SMALL: Final = {"int8": Kind.INT8, "int16": Kind.INT16}
_WRAPPERS: Final = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
_LOGICAL: Final[dict[str, tuple[ConnectSchema, Any]]] = {
    "google.type.Date": (ConnectSchema(Kind.INT32, name=logical.DATE, version=1), known_messages.day),
    "google.type.TimeOfDay": (ConnectSchema(Kind.INT32, name=logical.TIME, version=1), known_messages.time_of_day),
    "google.protobuf.Timestamp": (
        ConnectSchema(Kind.INT64, name=logical.TIMESTAMP, version=1),
        known_messages.timestamp,
    ),
}
_DECIMAL: Final = "confluent.type.Decimal"


class ConfluentRules:
    """Compiles messages that are not recursive."""

    def __init__(self, options: ProtobufOptions) -> None:
        self._options = options
        self._declarations = Declarations()
        self._enums: dict[str, Compiled] = {}

    def message(self, message: Message, path: str = "") -> Compiled:
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
                members += [structs.member(one.name, declaration.place(one), _optional(made)) for one, made in fields]
            else:
                members.append(self._union(index, oneof, fields, declaration))
        for one in message.fields:
            if declaration.oneof(one) is None:
                members.append(structs.member(one.name, declaration.place(one), self._field(one, declaration, path)))
        _check_names([one.name for one in members], message)
        name = message.full_name if self._options.full_names else message.name
        schema = ConnectSchema(Kind.STRUCT, name=name, fields=tuple((one.name, one.schema) for one in members))
        required = [declaration.place(one) for one in message.fields if one.is_required]
        return structs.struct(schema, members, required, [places for places in oneofs if len(places) > 1])

    def _union(self, index: int, oneof: Any, fields: list[tuple[Field, Compiled]], declaration: Declaration) -> Member:
        name = f"{oneof.name}_{index}" if self._options.union_index else oneof.name
        title = f"{UNION}.{oneof.full_name if self._options.full_names else oneof.name}"
        inner = tuple((one.name, made.schema) for one, made in fields)
        schema = ConnectSchema(Kind.STRUCT, True, title, fields=inner)
        return structs.union(name, schema, [(declaration.place(one), made) for one, made in fields])

    def _field(self, one: Field, declaration: Declaration, path: str) -> Compiled:
        path = f"{path}.{one.name}" if path else one.name
        if is_map(one):
            return _optional(self._map(one, path))
        made = self._value(one, path)
        if one.is_repeated:
            return structs.repeated(array(replace(made.schema, optional=True), optional=True), made.convert)
        is_filled = one.message_type is None and declaration.oneof(one) is None
        if is_filled and not self._may_be_absent(one, declaration):
            made = Compiled(made.schema, filled(made.convert, one.default_value))
        if self._options.optional_for_nullables:
            is_optional = declaration.has_optional_keyword(one)
        else:
            is_optional = not self._options.wrapper_for_nullables
        return _optional(made) if is_optional else made

    def _may_be_absent(self, one: Field, declaration: Declaration) -> bool:
        if declaration.is_proto3_optional(one):
            return True
        return self._options.optional_for_proto2 and declaration.has_optional_keyword(one)

    def _value(self, one: Field, path: str) -> Compiled:
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
        return Compiled(schema, number(wire, schema, path))

    def _inner_message(self, one: Field, path: str) -> Compiled:
        message = one.message_type
        if message.full_name in _LOGICAL:
            schema, make = _LOGICAL[message.full_name]
            return Compiled(schema, make(path))
        if message.full_name == _DECIMAL:
            return _decimal(connect_parameters(one), path)
        if message.full_name in _WRAPPERS and self._options.wrapper_for_nullables:
            return self._wrapper(message, path)
        return self.message(message, path)

    def _wrapper(self, message: Message, path: str) -> Compiled:
        (one,) = message.fields
        wire = scalar_type(one)
        schema = ConnectSchema(KINDS[wire])
        return Compiled(schema, structs.only_field(number(wire, schema, path)))

    def _enum(self, kind: Any) -> Compiled:
        """Compile an enum: once, as it may have many values, and many fields."""
        if kind.full_name not in self._enums:
            self._enums[kind.full_name] = self._made_enum(kind)
        return self._enums[kind.full_name]

    def _made_enum(self, kind: Any) -> Compiled:
        name = kind.full_name if self._options.full_names else kind.name
        as_numbers = self._options.enums_as_numbers
        schema = ConnectSchema(Kind.INT32 if as_numbers else Kind.STRING, True, name)
        return Compiled(schema, enum(kind, as_numbers=as_numbers))

    def _map(self, one: Field, path: str) -> Compiled:
        declaration = self._declarations.of(one.message_type)
        key, value = (self._field(inner, declaration, path) for inner in one.message_type.fields)
        key_field, value_field = one.message_type.fields
        is_message = value_field.message_type is not None
        convert = structs.there(value.convert) if is_message else filled(value.convert, value_field.default_value)
        keys = filled(key.convert, key_field.default_value)
        return structs.mapping(map_of(key.schema, value.schema), keys, convert)


def _optional(made: Compiled) -> Compiled:
    return Compiled(replace(made.schema, optional=True), made.convert)


def _decimal(parameters: dict[str, str], path: str) -> Compiled:
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
    return Compiled(schema, convert)


def _check_names(names: list[str], message: Message) -> None:
    twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
    if twice:
        refuse(f"message {shown(message.full_name)} has two fields named {shown(min(twice))}, one of them its oneof")
