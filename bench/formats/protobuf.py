"""Protobuf, with schemas in a registry, as Confluent's serializer frames it.

There is no class here that reads Protobuf in Kafka Connect: Confluent's is not on Maven Central, and neither is a version of
Apicurio's converters with one. The sink is not measured with it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final

from bench.formats.base import CONFLUENT_API, Encoder, Format, Registry, frame
from bench.formats.orders import CHANNELS, PRECISION, SCALE
from floe.schema_registry.schema import SchemaText
from floe_job.convert.protobuf.decoder import ProtobufDecoder
from floe_job.convert.protobuf.descriptors import ProtobufOptions
from floe_job.convert.protobuf.message_frames import MessageReference
from floe_job.convert.typed.frames import Framing
from floe_job.convert.typed.schema_source import SchemaSource

SCHEMA: Final = f"""syntax = "proto3";
package bench;

import "confluent/meta.proto";
import "confluent/type/decimal.proto";
import "google/protobuf/timestamp.proto";

message Order {{
  string order_id = 1;
  int64 customer_id = 2;
  int32 store_id = 3;
  Channel channel = 4;
  optional string note = 5;
  optional double discount = 6;
  confluent.type.Decimal total = 7 [(confluent.field_meta) = {{
    params: [
      {{ key: "precision", value: "{PRECISION}" }},
      {{ key: "scale", value: "{SCALE}" }}
    ]
  }}];
  google.protobuf.Timestamp ordered_at = 8;
  google.protobuf.Timestamp delivered_at = 9;
  bool is_gift = 10;
  Address address = 11;
  repeated string toppings = 12;

  message Address {{
    string street = 1;
    string city = 2;
    optional string zip = 3;
  }}

  enum Channel {{
    {" ".join(f"{name} = {number};" for number, name in enumerate(CHANNELS))}
  }}
}}
"""

_FIRST_MESSAGE: Final = b"\x00"
_VARINT, _FIXED64, _BYTES = 0, 1, 2


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _number(field: int, value: int) -> bytes:
    """Write a number that is not negative; 0 is not written."""
    return _varint(field << 3 | _VARINT) + _varint(value) if value else b""


def _text(field: int, value: str | bytes | None) -> bytes:
    if value is None:
        return b""
    nbytes = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | _BYTES) + _varint(len(nbytes)) + nbytes


def _double(field: int, value: float | None) -> bytes:
    return b"" if value is None else _varint(field << 3 | _FIXED64) + struct.pack("<d", value)


def _time(field: int, milliseconds: int | None) -> bytes:
    if milliseconds is None:
        return b""
    seconds, left = divmod(milliseconds, 1000)
    return _text(field, _number(1, seconds) + _number(2, left * 1_000_000))


def _message(order: Mapping[str, Any]) -> bytes:
    unscaled = int(order["total"].scaleb(SCALE))
    total = unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)
    address = order["address"]
    parts = [
        _text(1, order["order_id"]),
        _number(2, order["customer_id"]),
        _number(3, order["store_id"]),
        _number(4, CHANNELS.index(order["channel"])),
        _text(5, order["note"]),
        _double(6, order["discount"]),
        _text(7, _text(1, total) + _number(2, PRECISION) + _number(3, SCALE)),
        _time(8, order["ordered_at"]),
        _time(9, order["delivered_at"]),
        _number(10, order["is_gift"]),
        _text(11, b"".join(_text(i, address[name]) for i, name in enumerate(("street", "city", "zip"), 1))),
        *(_text(12, one) for one in order["toppings"]),
    ]
    return b"".join(parts)


def _encoder(schema_id: int) -> Encoder:
    head = frame(schema_id) + _FIRST_MESSAGE
    return lambda order: head + _message(order)


def _converter(registry: Registry) -> Mapping[str, str]:
    return {
        "value.converter": "io.confluent.connect.protobuf.ProtobufConverter",
        "value.converter.schema.registry.url": f"{registry}{CONFLUENT_API}",
    }


def _decoder(schema_of: SchemaSource) -> ProtobufDecoder:
    return ProtobufDecoder(Framing.ID_OF_4_BYTES, MessageReference.INDEXES, schema_of, ProtobufOptions())


PROTOBUF: Final = Format("protobuf", SchemaText("PROTOBUF", SCHEMA), _encoder, _converter, _decoder, has_sink=False)
