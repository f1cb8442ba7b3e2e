"""What every decoder of values with schemas keeps to."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from floe.config.converters.base import ConverterSpec
from floe.config.converters.charsets import ENCODING
from floe.config.converters.kinds import BOOLEAN, BYTES, PLAIN_KINDS, STRING
from floe.config.properties import Properties
from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.contract.dead_letter import Rejected
from floe_job.convert.envelope.decoder import EnvelopeDecoder, EnvelopeOptions, FixedSchemaDecoder
from floe_job.convert.plain.decoder import PlainDecoder
from floe_job.convert.typed.base import TypedBatch, TypedDecoder, TypedPart
from tests.support.job.formats import avro_orders, ext_json_records, json_schema_orders, proto_orders
from tests.support.job.formats.envelopes import envelope
from tests.support.kafka.messages import values_of


@dataclass(frozen=True)
class Case:
    """One implementation. ``encode``: a record with a number; ``read``: its value; ``bad``: what cannot be read."""

    decoder: Callable[[], TypedDecoder]
    encode: Callable[[int], bytes]
    read: Callable[[int], Any]
    bad: tuple[bytes, ...]


class DigitsDecoder:
    """A decoder as a contributor would begin one: a value is a number in digits."""

    def decode(self, values: Sequence[bytes]) -> TypedBatch:
        """Decode values."""
        schema = ConnectSchema(Kind.INT64)
        places = [i for i, value in enumerate(values) if bytes(value).isdigit()]
        bad = [i for i in range(len(values)) if i not in set(places)]
        column = pa.array([int(values[i]) for i in places], arrow_type(schema))
        parts = (TypedPart(schema, np.array(places, np.int64), column),) if places else ()
        rejected = tuple(Rejected(i, "value_converter", "it is no number", "Malformed") for i in bad)
        return TypedBatch(parts, rejected, len(places))


def plain(
    kind: str, encode: Callable[[int], bytes], read: Callable[[int], Any], *bad: bytes, charset: str = ""
) -> Case:
    """Return the case of plain values."""
    spec = ConverterSpec(kind, Properties({ENCODING: charset} if charset else {}))
    return Case(lambda: PlainDecoder(spec), encode, read, bad)


def numbers(kind: str, form: str) -> Case:
    """Return the case of numbers of a form of ``struct``."""
    size = struct.calcsize(form)
    return plain(kind, lambda n: struct.pack(form, n - 9), lambda n: n - 9, b"", bytes(size - 1), bytes(size + 1))


ORDER = avro_orders.order(5)
PROTO_ORDER = proto_orders.order(5)
CONTENT = """{"type": "struct", "fields": [{"type": "int64", "field": "id"},
    {"type": "string", "default": "é", "field": "note"}]}"""
DECODERS = {
    "avro": Case(
        avro_orders.decoder,
        avro_orders.order,
        avro_orders.read,
        (b"", b"\x01" + ORDER[1:], ORDER[:4], ORDER[:-1], ORDER + b"\x00", b"\x00\x00\x00\x00\x08" + ORDER[5:]),
    ),
    "short": numbers("short", ">h"),
    "int": numbers("int", ">i"),
    "long": numbers("long", ">q"),
    "float": numbers("float", ">f"),
    "double": numbers("double", ">d"),
    "boolean": plain(BOOLEAN, lambda n: bytes([n % 2]), lambda n: n % 2 == 1, b"", b"\x02", b"\x00\x01"),
    "string": plain(STRING, lambda n: f"{n} é".encode(), lambda n: f"{n} é", b"\xff", b"\xed\xa0\x80"),
    "string in another set": plain(
        STRING, lambda n: f"{n} é".encode("utf-16"), lambda n: f"{n} é", b"x", b"\xd8\x00", charset="UTF-16"
    ),
    "bytes": plain(BYTES, lambda n: bytes([n % 256]) * n, lambda n: bytes([n % 256]) * n),
    "protobuf": Case(
        proto_orders.decoder,
        proto_orders.order,
        proto_orders.read,
        (
            b"",
            b"\x01" + PROTO_ORDER[1:],
            PROTO_ORDER[:4],
            PROTO_ORDER[:-1],
            PROTO_ORDER[:5] + b"\x02\x08" + PROTO_ORDER[7:],
            PROTO_ORDER + b"\x12\x01\xff",
            PROTO_ORDER + b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x00\x00\x00\x00\x08" + PROTO_ORDER[5:],
        ),
    ),
    "json_schema": Case(
        json_schema_orders.decoder, json_schema_orders.order, json_schema_orders.read, json_schema_orders.BAD
    ),
    "envelope": Case(
        lambda: EnvelopeDecoder(EnvelopeOptions()),
        lambda n: envelope([("id", "int64"), ("note", "string")], id=n, note=f"é{n}"),
        lambda n: {"id": n, "note": f"é{n}"},
        (b"", b"{", b"\xff", b'{"id":1}', envelope([("id", "int8")], id=200), envelope([("id", "text")], id="x")),
    ),
    "ext_json": Case(ext_json_records.decoder, ext_json_records.order, ext_json_records.read, ext_json_records.BAD),
    "schema.content": Case(
        lambda: FixedSchemaDecoder(CONTENT, fill_defaults=True, stage="value_converter"),
        lambda n: json.dumps({"id": n, "note": None}).encode(),
        lambda n: {"id": n, "note": "é"},
        (b"", b"{", b"\xff", b"7", b"null", b"[]", b'{"id":"x"}', b'{"id":1},"id":2', b'{"id":1}{"id":2}'),
    ),
    "throw-away": Case(DigitsDecoder, lambda n: str(n).encode(), lambda n: n, (b"", b"x")),
}


@pytest.fixture(params=DECODERS)
def case(request: pytest.FixtureRequest) -> Case:
    """Each implementation, and one that is here only."""
    return DECODERS[request.param]


def rows(batch: TypedBatch) -> dict[int, Any]:
    found: dict[int, Any] = {}
    for part in batch.parts:
        assert part.column.type == arrow_type(part.schema)
        assert part.places.dtype == np.int64
        assert (np.diff(part.places) > 0).all()
        found |= zip(part.places.tolist(), part.column.to_pylist(), strict=True)
    return found


def test_decoder_every_plain_kind_has_a_case() -> None:
    assert set(DECODERS) >= PLAIN_KINDS


def test_decoder_returns_each_record_once(case: Case) -> None:
    batch = case.decoder().decode(values_of([case.encode(n) for n in range(300)]))
    assert rows(batch) == {n: case.read(n) for n in range(300)}
    assert (batch.rejected, sum(len(part.places) for part in batch.parts)) == ((), 300)


def test_decoder_of_no_records_returns_no_parts(case: Case) -> None:
    assert case.decoder().decode([]) == TypedBatch((), (), 0)


def test_decoder_bad_record_rejects_itself_only(case: Case) -> None:
    for bad in case.bad:
        batch = case.decoder().decode([*map(case.encode, range(20)), bad, *map(case.encode, range(20, 40))])
        assert list(rows(batch).values()) == [case.read(n) for n in range(40)], bad
        (rejected,) = batch.rejected
        assert (rejected.index, rejected.stage) == (20, "value_converter")
        assert 0 < len(rejected.reason) <= 300
        assert rejected.error


def test_decoder_names_bad_records_in_their_order(case: Case) -> None:
    values = [one for bad in case.bad for one in (bad, case.encode(1))]
    batch = case.decoder().decode(values)
    assert [one.index for one in batch.rejected] == list(range(0, len(values), 2))
    assert sorted(rows(batch)) == list(range(1, len(values), 2))


@pytest.mark.parametrize("size", [1, 7, 100])
def test_decoder_result_is_the_same_for_any_batches(case: Case, size: int) -> None:
    values = [case.encode(n) for n in range(200)]
    if case.bad:
        values[3], values[150] = case.bad[0], case.bad[-1]
    whole, decoder = case.decoder().decode(values), case.decoder()
    found, rejected = {}, []
    for start in range(0, len(values), size):
        batch = decoder.decode(values[start : start + size])
        found |= {start + place: row for place, row in rows(batch).items()}
        rejected += [(start + one.index, one.reason) for one in batch.rejected]
    assert found == rows(whole)
    assert rejected == [(one.index, one.reason) for one in whole.rejected]


def test_decoder_reads_values_wherever_they_are(case: Case) -> None:
    values = [case.encode(n) for n in range(50)] + list(case.bad[-1:])
    assert rows(case.decoder().decode(values_of(values))) == rows(case.decoder().decode(values))
