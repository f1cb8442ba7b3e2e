"""What floe reads from librdkafka's memory is what its own client hands out as objects."""

from __future__ import annotations

import ctypes
import gc
import random
import weakref
from collections.abc import Callable
from contextlib import closing
from typing import Any

import confluent_kafka as ck
import confluent_kafka.cimpl
import pytest

from floe.kafka.reader_limits import ReaderLimits
from floe.model.offsets import OffsetRange
from floe_job.source.messages import has_header, last_of
from floe_job.source.native.consumer import SettingRefused
from floe_job.source.range_reader import RangeReader, open_client
from tests.support.kafka.source_clients import FAST_ONLY, MAX, RECORDS, produce, reading, to_end

pytestmark = pytest.mark.usefixtures("client")


def by_client(conf: dict[str, Any], topic: str) -> list[ck.Message]:
    """Read to the end of the partition as anybody would."""
    consumer = ck.Consumer(conf)
    consumer.assign([ck.TopicPartition(topic, 0, 0)])
    found: list[ck.Message] = []
    while not found or found[-1].error() is None:
        found += consumer.consume(MAX, 0.05)
    consumer.close()
    return found[:-1]


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd", "lz4", "snappy"])
def test_every_part_of_a_record_is_what_the_client_says(
    conf: dict[str, Any], topic: Callable[..., str], compression: str
) -> None:
    one = topic()
    produce(conf, one, RECORDS, **{"compression.type": compression})
    expected = by_client(conf, one)
    with reading(conf, one) as consumer:
        batch, (end,) = to_end(consumer)
        assert batch.offsets.tolist() == [message.offset() for message in expected]
        assert list(batch.values) == [message.value() for message in expected]
        data, starts, ends = batch.values.packed()
        spans = zip(starts.tolist(), ends.tolist(), strict=True)
        assert [bytes(data[start:end]) for start, end in spans] == [message.value() or b"" for message in expected]
        assert [m.key() for m in batch.messages] == [message.key() for message in expected]
        assert [m.timestamp() for m in batch.messages] == [message.timestamp()[1] for message in expected]
        assert [m.headers() for m in batch.messages] == [message.headers() or [] for message in expected]
        assert batch.messages.keys() == [message.key() for message in expected]
        assert batch.messages.timestamps() == [message.timestamp()[1] for message in expected]
        assert batch.messages.headers() == [message.headers() or [] for message in expected]
        names = [*{name: None for message in expected for name, _ in message.headers() or ()}, "none"]
        by_name = [last_of(message.headers(), names) for message in expected]
        assert batch.messages.last_headers(names).each() == by_name
        for name in names:
            assert batch.messages.have_header(name) == [has_header(one, name) for one in batch.messages.headers()]
        assert batch.nbytes == sum(len(m) + len(m.key() or b"") for m in expected)
        assert (end.topic, end.partition, end.offset) == (one, 0, len(RECORDS))
        assert end.error.code() == ck.KafkaError._PARTITION_EOF


def test_record_without_a_time_has_none(conf: dict[str, Any], topic: Callable[..., str]) -> None:
    one = topic()
    produce(conf, one, [{"value": b"none", "timestamp": -1}, {"value": b"first", "timestamp": 1}])
    assert [message.timestamp()[1] for message in by_client(conf, one)] == [-1, 1]
    with reading(conf, one) as consumer:
        batch, _ = to_end(consumer)
        assert batch.messages.timestamps() == [None, 1]
        assert [message.timestamp() for message in batch.messages] == [None, 1]


@pytest.mark.full
def test_records_stay_readable_after_their_consumer_is_closed(conf: dict[str, Any], topic: Callable[..., str]) -> None:
    one = topic()
    produce(conf, one, [{"value": b"v%d" % n, "key": b"k", "headers": [("h", b"%d" % n)]} for n in range(1000)])
    with reading(conf, one) as consumer:
        batch, _ = to_end(consumer)
    part, message = batch.values.select(range(0, 1000, 3)), batch.messages[999]
    del batch
    gc.collect()
    assert list(part) == [b"v%d" % n for n in range(0, 1000, 3)]
    assert (message.key(), message.headers()) == (b"k", [("h", b"999")])


@FAST_ONLY
def test_what_is_let_go_is_freed(conf: dict[str, Any], topic: Callable[..., str]) -> None:
    one = topic()
    produce(conf, one, [{"value": b"v"} for _ in range(5 * MAX)])
    with reading(conf, one) as consumer:
        for _ in range(3):
            batch, _ = to_end(consumer)
            handle = batch.refs[0]._handle
            assert handle._users == 1 + len(batch.refs)
            del batch
            assert handle._users == 1
            consumer.assign(one, 0, 0)
    assert handle._users == 0


@FAST_ONLY
def test_a_consumer_that_nobody_closes_is_closed(conf: dict[str, Any], topic: Callable[..., str]) -> None:
    one = topic()
    produce(conf, one, [{"value": b"v"}])
    consumer = open_client(conf, MAX, ReaderLimits())
    consumer.assign(one, 0, 0)
    handle, (batch, _) = consumer._handle, to_end(consumer)
    del consumer
    assert handle._users == len(batch.refs)  # one for each call that it took
    del batch
    assert handle._users == 0


@FAST_ONLY
def test_a_reader_holds_nothing_of_what_it_has_handed_out(conf: dict[str, Any], topic: Callable[..., str]) -> None:
    one = topic()
    produce(conf, one, [{"value": b"v"} for _ in range(10)])
    with closing(RangeReader.open(conf)) as reader:
        batches = reader.read(OffsetRange(one, "id", 0, 0, 10))
        batch = next(batches)
        block = weakref.ref(batch.refs[0])
        del batch
        assert block() is None
        assert list(batches) == []


def test_records_of_a_random_log_are_lines_as_their_values_are(conf: dict[str, Any], topic: Callable[..., str]) -> None:
    chance, one = random.Random(5), topic()
    for _ in range(20):
        keys = chance.choice([None, b"k", b"key" * 50])
        records = [
            {"value": b'{"n":"%s"}' % (b"x" * chance.randrange(300)), "key": keys}
            for _ in range(chance.randrange(1, 80))
        ]
        produce(conf, one, records, **{"compression.type": chance.choice(["none", "zstd"])})
    with reading(conf, one) as consumer:
        batch, _ = to_end(consumer)
        together = 0
        for start in range(0, len(batch), 37):
            values = batch.values[start : start + 37]
            lines = values.lines()
            if lines is not None:
                together += 1
                assert [line.strip() for line in lines.text.splitlines()] == list(values)
        assert together


def test_a_header_whose_name_is_not_text_cannot_be_read(conf: dict[str, Any], topic: Callable[..., str]) -> None:
    one = topic()
    produce_with_raw_name(conf, one, b"\xff\xfe")
    with reading(conf, one) as consumer:
        batch, _ = to_end(consumer)
        (message,) = batch.messages
        assert message.headers() is None
        assert message.headers() is None
        assert list(batch.values) == [b"v"]


def produce_with_raw_name(conf: dict[str, Any], topic: str, name: bytes) -> None:
    """Send a record with a header that Python's client would not send: by way of librdkafka, as others may."""
    library = ctypes.CDLL(confluent_kafka.cimpl.__file__)
    library.rd_kafka_conf_new.restype = library.rd_kafka_new.restype = ctypes.c_void_p
    settings = ctypes.c_void_p(library.rd_kafka_conf_new())
    library.rd_kafka_conf_set(
        settings, b"bootstrap.servers", conf["bootstrap.servers"].encode(), None, ctypes.c_size_t(0)
    )
    producer = ctypes.c_void_p(library.rd_kafka_new(0, settings, None, ctypes.c_size_t(0)))
    end, to, value, flags, header, copied = 0, 1, 4, 7, 9, 2
    arguments = (
        to,
        topic.encode(),
        value,
        b"v",
        ctypes.c_size_t(1),
        flags,
        copied,
        header,
        name,
        b"1",
        ctypes.c_ssize_t(1),
    )
    assert library.rd_kafka_producev(producer, *arguments, end) == 0
    assert library.rd_kafka_flush(producer, 10_000) == 0
    library.rd_kafka_destroy(producer)


def test_an_offset_that_is_not_there_is_an_event(conf: dict[str, Any], topic: Callable[..., str]) -> None:
    with closing(open_client(conf, MAX, ReaderLimits())) as consumer:
        consumer.assign(topic(), 0, 10**6)
        _, (event,) = to_end(consumer)
    assert event.error.code() == ck.KafkaError._AUTO_OFFSET_RESET
    assert "out of range" in event.error.str().lower()


def test_a_consumer_without_a_group_is_refused(conf: dict[str, Any]) -> None:
    del conf["group.id"]
    with pytest.raises(SettingRefused, match=r"(?i)group"):
        open_client(conf, MAX, ReaderLimits())
