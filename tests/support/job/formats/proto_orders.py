"""Orders as Protobuf records, and their decoder."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

from google.protobuf import message_factory

from floe.schema_registry.exceptions import SchemaMissing
from floe.schema_registry.schema import RegisteredSchema
from floe_job.convert.protobuf.decoder import ProtobufDecoder
from floe_job.convert.protobuf.descriptors import ProtobufOptions
from floe_job.convert.protobuf.message_frames import MessageReference
from floe_job.convert.protobuf.schema_file import file_of
from floe_job.convert.typed.frames import Framing
from tests.support.job.formats.random_messages import registered

TEXT = """
syntax = "proto3";
package shop;
import "confluent/meta.proto";
import "confluent/type/decimal.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "google/type/date.proto";
import "google/type/timeofday.proto";

message Line { string item = 1; uint32 count = 2; }
message Order {
  enum State { NEW = 0; PAID = 1; }
  int64 id = 1;
  optional string note = 2;
  State state = 3;
  confluent.type.Decimal price = 4 [(confluent.field_meta) = { params: [ { key: "scale" value: "2" } ] }];
  repeated string tags = 5;
  map<string, int32> counts = 6;
  repeated Line lines = 7;
  oneof paid { string card = 8; Line voucher = 9; }
  google.protobuf.Timestamp at = 10;
  google.type.Date day = 11;
  google.type.TimeOfDay time = 12;
  google.protobuf.StringValue code = 13;
  uint64 total = 14;
  bytes raw = 15;
  double ratio = 16;
}
"""
FRAME = bytes([0, 0, 0, 0, 7])
ORDER = b"\x02\x02"
"""The indexes of the second message."""

AT = datetime(2024, 2, 29, 12, 30, 15, 123456, UTC)


@cache
def message_class() -> Any:
    """Return the class of orders."""
    return message_factory.GetMessageClass(file_of(registered(TEXT)).message_types_by_name["Order"])


def fill(number: int) -> Any:
    """Make an order."""
    made = message_class()(id=number, note="é", state=1, tags=["a", "b"], counts={"k": number}, card="visa")
    made.price.value, made.price.scale = (-(number + 200)).to_bytes(4, "big", signed=True), 2
    made.lines.add(item="pizza", count=4_000_000_000)
    made.at.FromDatetime(AT + timedelta(seconds=number))
    made.at.nanos += 789
    made.day.year, made.day.month, made.day.day = 2024, 2, 29
    made.time.hours, made.time.nanos = 23, 1000
    made.code.value = ""
    made.total, made.raw, made.ratio = 2**63 - 1, b"\xff", 0.5
    return made


def order(number: int) -> bytes:
    """Write an order, with its frame."""
    return FRAME + ORDER + fill(number).SerializeToString()


def read(number: int) -> dict[str, Any]:
    """Return the row that an order is read as."""
    return {
        "paid_0": {"card": "visa", "voucher": None},
        "id": number,
        "note": "é",
        "state": "PAID",
        "price": Decimal(-(number + 200)).scaleb(-2),
        "tags": ["a", "b"],
        "counts": [("k", number)],
        "lines": [{"item": "pizza", "count": 4_000_000_000}],
        "at": AT + timedelta(seconds=number),
        "day": date(2024, 2, 29),
        "time": time(23, 0, 0, 1),
        "code": "",
        "total": 2**63 - 1,
        "raw": b"\xff",
        "ratio": 0.5,
    }


def source(**texts: str) -> Callable[[int], RegisteredSchema]:
    """Return a registry of schemas by id."""

    def schema_of(schema_id: int) -> RegisteredSchema:
        if f"s{schema_id}" not in texts:
            problem = f"the registry has no schema {schema_id}"
            raise SchemaMissing(problem, schema_id)
        return registered(texts[f"s{schema_id}"])

    return schema_of


def decoder(options: ProtobufOptions | None = None, **texts: str) -> ProtobufDecoder:
    """Return a decoder of records framed by an id of four bytes and the indexes of their message."""
    known = source(**(texts or {"s7": TEXT}))
    return ProtobufDecoder(Framing.ID_OF_4_BYTES, MessageReference.INDEXES, known, options or ProtobufOptions())
