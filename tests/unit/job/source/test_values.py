"""Values where librdkafka has them, without librdkafka: laid out in memory as the answer of a broker lays them out."""

from __future__ import annotations

import ctypes
import random
from typing import Any

import confluent_kafka.cimpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from floe_job.convert.json.decoder import JsonDecoder
from floe_job.schema.proposal import ColumnRules
from floe_job.source.native import librdkafka
from floe_job.source.native.consumer import Consumer, SettingRefused
from floe_job.source.native.memory import Handle, MessageBlock, columns
from floe_job.source.values import CLOSEST, MIN_TOGETHER, WIDEST_GAP
from tests.support.job.memory import Memory, memory

OBJECTS = [b'{"n":%d}' % n for n in range(20)]


def test_values_are_a_sequence_like_any_other() -> None:
    given_values = [b"a", None, b"", b"bcd"]
    held = memory(given_values)
    values = held.values
    assert (list(values), len(values), values.nbytes) == (given_values, 4, 4)
    assert [values[i] for i in range(-4, 4)] == given_values * 2
    assert list(values[1:3]) == [None, b""]
    assert list(values.select([3, 0])) == [b"bcd", b"a"]
    assert (values.has_tombstones, values.select([0, 2]).has_tombstones) == (True, False)
    assert None in values
    assert None not in values.select([0, 2])
    assert b"bcd" in values
    assert b"x" not in values
    assert list(values.select([])) == []
    assert values.present() == [0, 2, 3]


@pytest.mark.parametrize("gap", [1, 2, 10, WIDEST_GAP])
def test_objects_behind_each_other_are_copied_together_as_lines(gap: int) -> None:
    held = memory(OBJECTS, gap)
    lines = held.values.lines()
    assert lines is not None
    assert [line.strip() for line in lines.text.splitlines()] == OBJECTS
    assert lines.text.endswith(b"}\n")
    assert lines.text.count(b"\n") == len(OBJECTS)
    assert [lines.record(i) for i in range(len(OBJECTS))] == OBJECTS


def test_nothing_is_no_line() -> None:
    held = memory(OBJECTS)
    lines = held.values.select([]).lines()
    assert lines is not None
    assert (lines.text, len(lines.starts), len(lines.ends)) == (b"", 0, 0)


def test_a_consumer_that_is_closed_says_so() -> None:
    consumer = Consumer.open({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0}, 10)
    consumer.close()
    consumer.close()
    with pytest.raises(RuntimeError, match="closed"):
        consumer.consume(0)
    with pytest.raises(RuntimeError, match="closed"):
        consumer.assign("t", 0, 0)


def test_one_object_is_a_line() -> None:
    held = memory(OBJECTS[:1])
    lines = held.values.lines()
    assert lines is not None
    assert lines.text == b'{"n":0}\n'


@pytest.mark.parametrize("odd", [b"", b"[]", b' {"n":1}', b'{"n":1} ', b"{", b"}", b'{"n":1', b"1"])
def test_what_does_not_begin_and_end_as_an_object_makes_no_lines(odd: bytes) -> None:
    held = memory([*OBJECTS, odd, *OBJECTS])
    assert held.values.lines() is None


def test_nothing_is_copied_together_that_lies_apart() -> None:
    held = memory(OBJECTS, CLOSEST + 1)
    assert held.values.lines() is None
    backwards = memory(OBJECTS)
    assert backwards.values.select(range(19, -1, -1)).lines() is None
    overlapping = memory(OBJECTS)
    assert overlapping.values.select([3] * 20).lines() is None


@pytest.mark.parametrize("gap", [1, WIDEST_GAP, WIDEST_GAP + 1, CLOSEST // 3])
def test_objects_of_which_others_were_left_out_are_lines(gap: int) -> None:
    held = Memory(OBJECTS, [gap] * len(OBJECTS), [0] * 10 + [1] * 10)
    kept = OBJECTS[::2]
    lines = held.values.select(range(0, len(OBJECTS), 2)).lines()
    assert lines is not None
    assert [line.strip() for line in lines.text.split(b"\n")] == [*kept, b""]
    assert [lines.record(i) for i in range(len(kept))] == kept


def test_stretches_of_several_buffers_are_put_behind_each_other() -> None:
    count = 3 * MIN_TOGETHER
    held = Memory(OBJECTS[:count], [10] * count, [i // MIN_TOGETHER for i in range(count)])
    lines = held.values.lines()
    assert lines is not None
    assert [line.strip() for line in lines.text.splitlines()] == OBJECTS[:count]
    assert [lines.record(i) for i in range(count)] == OBJECTS[:count]


GAPS = [1, 2, *[10] * 6, 11, 12, 60, *[WIDEST_GAP] * 3, WIDEST_GAP + 1, 300]
LAYOUT = st.tuples(st.integers(0, 200), st.sampled_from(GAPS))


@given(st.lists(LAYOUT, min_size=1, max_size=60), st.integers(0, 3), st.integers(0, 4), st.randoms())
def test_lines_hold_every_value_once_wherever_it_lies(
    layout: list[tuple[int, int]], ends: int, lost: int, chance: random.Random
) -> None:
    """Values in up to four buffers, some of them lost on the way."""
    values = [b"{" + bytes(chance.choices(b"abc{}[]\\", k=size)) + b"}" for size, _ in layout]
    buffers = sorted(chance.choices(range(ends + 1), k=len(values)))
    held = Memory(values, [gap for _, gap in layout], buffers)
    kept = sorted(chance.sample(range(len(values)), max(1, len(values) - lost)))
    lines = held.values.select(kept).lines()
    breaks = ends + lost + sum(gap > WIDEST_GAP for _, gap in layout)
    assert lines is not None or breaks * MIN_TOGETHER > len(kept)
    if lines is not None:
        expected = [values[i] for i in kept]
        assert [line.strip() for line in lines.text.split(b"\n")] == [*expected, b""]
        assert [lines.record(i) for i in range(len(kept))] == expected


SCHEMA = Schema(NestedField(1, "n", LongType(), required=False), NestedField(2, "m", LongType(), required=False))


@pytest.mark.parametrize(
    "odd",
    [
        b'{"n":7\n}',
        b'\xef\xbb\xbf{"n":7}',
        b' {"n":7} ',
        b'{"n":"x"}',
        b"{} {}",
        b'{"n":1}{"n":2}',
        b'{"n":NaN}',
        b"[" * 100,
        b'{"n":' + b"[" * 100 + b"}",
        b'{"a":"' + b"]" * 100 + b'","b":' + b"[" * 70 + b"]" * 70 + b"}",
        b'{"a":"' + b"[" * 100 + b'","n":1}',
        b'{"b":' + b"[" * 70 + b"\n" + b"]" * 70 + b"}",
        b'{"b":' + b"[" * 63 + b"]" * 63 + b"}",
        b'{"b":' + b"[" * 64 + b"]" * 64 + b"}",
        b'{"n":"\xff"}',
        b'{"a":"\n"}',
        b'{"n":2.0}',
        b"",
    ],
)
def test_records_decode_alike_wherever_they_lie(odd: bytes) -> None:
    values = [*OBJECTS, odd, *OBJECTS]
    expected = JsonDecoder(SCHEMA, ColumnRules(), create=False).decode(values)
    held = memory(values)
    found = JsonDecoder(SCHEMA, ColumnRules(), create=False).decode(held.values)
    assert found == expected


def test_fields_of_messages_are_read_from_where_they_are() -> None:
    messages = [librdkafka.NativeMessage(err=-n, len=10 + n, offset=2**40 + n, payload=n or None) for n in range(7)]
    pointers = np.array([ctypes.addressof(message) for message in messages], np.int64)
    errors, sizes, offsets, payloads = columns(pointers, "err", "len", "offset", "payload")
    assert errors.tolist() == [0, -1, -2, -3, -4, -5, -6]
    assert sizes.tolist() == list(range(10, 17))
    assert offsets.tolist() == [2**40 + n for n in range(7)]
    assert payloads.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert [column.tolist() for column in columns(pointers[:0], "err", "len")] == [[], []]


@pytest.mark.parametrize(
    ("conf", "problem"),
    [
        ({"no.such.setting": 1}, 'No such configuration property: "no.such.setting"'),
        ({"fetch.wait.max.ms": "soon"}, "fetch.wait.max.ms"),
        ({"plugin.library.paths": "no-such-plugin"}, "no-such-plugin"),
        ({"sasl.oauthbearer.metadata.authentication.type": "aws_iam"}, "aws_iam: floe's readers cannot"),
        ({"security.protocol": "ssl", "ssl.ca.location": "/no/such/file.pem"}, "ssl.ca.location"),
    ],
)
def test_a_setting_that_is_not_taken_is_named(conf: dict[str, Any], problem: str) -> None:
    with pytest.raises(SettingRefused, match=problem):
        Consumer.open({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0, **conf}, 10)


def test_a_batch_lies_in_memory_as_librdkafka_has_it() -> None:
    library = ctypes.CDLL(confluent_kafka.cimpl.__file__)
    library.rd_kafka_messages_count.restype = ctypes.c_size_t
    library.rd_kafka_messages_count.argtypes = [ctypes.c_void_p]
    library.rd_kafka_messages_get.restype = ctypes.c_void_p
    library.rd_kafka_messages_get.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    assert confluent_kafka.libversion()[1] == librdkafka.KNOWN_VERSION  # of another one, look how it has them
    pointers = np.array([1 << 40, 7, 0x7FFF_FFFF_FFFF], np.int64)
    batch = librdkafka.batch_of(pointers)
    assert library.rd_kafka_messages_count(batch) == len(pointers)
    assert [library.rd_kafka_messages_get(batch, i) for i in range(3)] == pointers.tolist()


@pytest.mark.parametrize("is_known", [True, False])
def test_every_message_is_given_back_once(monkeypatch: pytest.MonkeyPatch, is_known: bool) -> None:
    one_by_one: list[int] = []
    batches: list[list[int]] = []

    def take(batch: int) -> None:
        count = ctypes.c_int64.from_address(batch).value
        batches.append(list((ctypes.c_int64 * count).from_address(batch + 8)))

    monkeypatch.setattr(librdkafka, "message_destroy", one_by_one.append)
    monkeypatch.setattr(librdkafka, "_messages_destroy", take if is_known else None)
    for pointers in ([], [11], [11, 22, 33]):
        MessageBlock(Handle(0), np.array(pointers, np.int64))
    assert (batches, one_by_one) == (([[], [11], [11, 22, 33]], []) if is_known else ([], [11, 11, 22, 33]))
