"""What Kafka Connect makes of a message by the rules of Apicurio's ``ProtobufData.toConnectSchema`` (as of 3.3).

Everything but fields of proto3 marked ``optional`` is there: a message that is not is one of defaults.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from floe_job.connect.schema import ConnectSchema, Kind, array, map_of
from floe_job.convert.protobuf import rules
from floe_job.convert.protobuf.descriptors import Declaration, Declarations, Field, Message, is_map
from floe_job.convert.protobuf.rules import KINDS, CompiledMessage, enum, filled, number
from floe_job.convert.protobuf.wire import scalar_type

_SMALL: Final = {"__int8": Kind.INT8, "__int16": Kind.INT16}
_KINDS: Final = {**KINDS, pa.uint32(): Kind.INT32}


class ApicurioRules:
    """Compiles messages that are not recursive."""

    def __init__(self) -> None:
        self._declarations = Declarations()
        self._enums: dict[str, CompiledMessage] = {}

    def message(self, message: Message, path: str = "") -> CompiledMessage:
        """Compile the messages of a type."""
        declaration = self._declarations.of(message)
        members = [
            rules.member(one.name, declaration.place(one), self._field(one, declaration, path))
            for one in message.fields
        ]
        fields = tuple((one.name, one.schema) for one in members)
        schema = ConnectSchema(Kind.STRUCT, name=message.full_name.replace("$", "."), fields=fields)
        oneofs = [[declaration.place(one) for one in oneof.fields] for _, oneof in declaration.oneofs()]
        required = [declaration.place(one) for one in message.fields if one.is_required]
        return rules.struct(schema, members, required, [places for places in oneofs if len(places) > 1])

    def _field(self, one: Field, declaration: Declaration, path: str) -> CompiledMessage:
        path = f"{path}.{one.name}" if path else one.name
        if is_map(one):
            entry = self._declarations.of(one.message_type)
            key, value = (self._field(inner, entry, path) for inner in one.message_type.fields)
            return rules.mapping(map_of(key.schema, value.schema, optional=True), key.convert, value.convert)
        made = self._value(one, declaration, path)
        if one.is_repeated:
            return rules.repeated(array(made.schema, optional=True), made.convert)
        if declaration.is_proto3_optional(one):
            return CompiledMessage(replace(made.schema, optional=True), made.convert)
        if one.message_type is not None:
            return CompiledMessage(made.schema, rules.there(made.convert))
        return CompiledMessage(made.schema, filled(made.convert, one.default_value))

    def _value(self, one: Field, declaration: Declaration, path: str) -> CompiledMessage:
        if one.message_type is not None:
            return self.message(one.message_type, path)
        if one.enum_type is not None:
            return self._enum(one.enum_type)
        wire = scalar_type(one)
        kind = _KINDS[wire]
        if kind is Kind.INT32:
            kind = _SMALL.get(declaration.json_name(one).partition(":")[0], kind)
        schema = ConnectSchema(kind)
        return CompiledMessage(schema, number(wire, schema, path))

    def _enum(self, kind: Any) -> CompiledMessage:
        """Compile an enum: once, as it may have many values, and many fields."""
        if kind.full_name not in self._enums:
            self._enums[kind.full_name] = CompiledMessage(ConnectSchema(Kind.STRING), enum(kind, as_numbers=False))
        return self._enums[kind.full_name]
