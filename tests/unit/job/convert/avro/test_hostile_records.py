"""Records that are made to cost: what they may cost is bounded, and their neighbours are read."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest

from floe_job.convert.avro import datums
from floe_job.convert.avro.blocks import MAX_EMPTY_ELEMENTS
from floe_job.convert.avro.decoder import AvroDecoder
from floe_job.convert.avro.schema import AvroOptions
from floe_job.convert.typed.base import TypedBatch
from floe_job.convert.typed.frames import Framing
from tests.support.avro import varint
from tests.support.cpu import least_cpu_seconds
from tests.support.job.formats.avro_orders import FRAME, decoder, order, registered

MEGABYTE = 1_000_000
EMPTY = {"type": "record", "name": "Empty", "fields": []}


def decode(schema: Any, values: list[bytes]) -> TypedBatch:
    text = registered(json.dumps(schema))
    return AvroDecoder(Framing.ID_OF_4_BYTES, lambda _: text, AvroOptions()).decode([FRAME + value for value in values])


@pytest.mark.parametrize("items", ["string", "int", "double", EMPTY, {"type": "array", "items": "int"}])
@pytest.mark.parametrize("count", [2**60, -(2**60), 2**63 - 1, -(2**63), 10_000])
def test_count_beyond_the_record_allocates_nothing(items: Any, count: int) -> None:
    schema = {"type": "array", "items": items}
    size = varint(3) if count < 0 else b""
    good = varint(0)
    tracemalloc.start()
    batch = decode(schema, [good, varint(count) + size + b"\x02\x02\x02", good])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [one.index for one in batch.rejected] == [1]
    assert "it has a block of" in batch.rejected[0].reason
    assert batch.parts[0].column.to_pylist() == [[], []]
    assert peak < MEGABYTE


def test_elements_without_bytes_are_limited() -> None:
    schema = {"type": "array", "items": EMPTY}
    some, many = varint(MAX_EMPTY_ELEMENTS) + b"\x00", varint(MAX_EMPTY_ELEMENTS + 1) + b"\x00"
    batch = decode(schema, [some, many])
    assert [one.index for one in batch.rejected] == [1]
    assert batch.parts[0].column.to_pylist() == [[{}] * MAX_EMPTY_ELEMENTS]


def test_record_of_too_many_values_is_rejected_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datums, "MAX_VALUES", 1000)
    monkeypatch.setattr(datums, "MAX_CHUNK_VALUES", 500)
    schema = {
        "type": "array",
        "items": ["null", {"type": "record", "name": "R", "fields": [{"name": "f", "type": "int"}] * 1}],
    }
    big, small = varint(400) + bytes(401), varint(100) + bytes(101)
    batch = decode(schema, [small, small, big, small, small])
    assert [(one.index, one.error) for one in batch.rejected] == [(2, "Malformed")]
    assert "values in its arrays and maps" in batch.rejected[0].reason
    assert batch.parts[0].places.tolist() == [0, 1, 3, 4]


def cpu(values: list[bytes]) -> tuple[float, TypedBatch]:
    one = decoder()
    batch = one.decode(values)
    return least_cpu_seconds(lambda: one.decode(values)), batch


BAD = {
    "cut in the middle": order(5)[:-12],
    "cut in the first field": FRAME + b"\xff",
    "branch": order(5)[:6] + b"\x7e" + order(5)[7:],
    "not UTF-8": order(5).replace("é".encode(), b"\xff\xff"),
    "too long": order(5) + b"\x00",
    "no magic byte": b"\x01" + order(5)[1:],
    "count": order(5)[:15] + varint(2**60) + order(5)[16:],
}


@pytest.mark.parametrize("kind", BAD)
def test_batch_of_bad_records_costs_little_more(kind: str) -> None:
    good_time, good = cpu([order(5)] * 50_000)
    bad_time, bad = cpu([BAD[kind]] * 50_000)
    assert (len(good.rejected), len(bad.rejected)) == (0, 50_000)
    assert bad_time < 10 * good_time + 0.5


@pytest.mark.parametrize("blocks", ["one", "many"])
@pytest.mark.parametrize("items", ["int", "string", ["null", "int"], {"type": "array", "items": "int"}])
def test_long_array_in_one_record_is_read_in_time(items: Any, blocks: str) -> None:
    """An array of 100,000 elements in one of the records: its elements are not read one step each."""
    count = 100_000
    long = (varint(count) + bytes(count) if blocks == "one" else (varint(1) + b"\x00") * count) + b"\x00"
    found: list[TypedBatch] = []
    values = [varint(0), long, long[:-1], varint(0)]
    assert least_cpu_seconds(lambda: found.append(decode({"type": "array", "items": items}, values))) < 5
    batch = found[0]
    assert [one.index for one in batch.rejected] == [2]
    assert [len(one) for one in batch.parts[0].column] == [0, count, 0]


def test_wide_record_of_few_bytes_is_read() -> None:
    fields = [{"name": f"f{i}", "type": ["null", "string"]} for i in range(4_000)]
    schema = {"type": "record", "name": "Wide", "fields": fields}
    batch = decode(schema, [bytes(4_000)] * 600 + [bytes(3_999)])
    assert [one.index for one in batch.rejected] == [600]
    assert len(batch.parts[0].column) == 600


def test_every_reason_is_bounded() -> None:
    fields = [{"name": "x" * 10_000, "type": {"type": "array", "items": "int"}}]
    batch = decode({"type": "record", "name": "R", "fields": fields}, [varint(2**60)])
    assert len(batch.rejected[0].reason) <= 300
