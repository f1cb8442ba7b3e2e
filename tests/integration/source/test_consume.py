"""What floe reads from librdkafka's memory is what its own client hands out as objects."""

from __future__ import annotations

import ctypes
import gc
import itertools
import json
import os
import random
import re
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import astuple
from typing import Any

import confluent_kafka as ck
import confluent_kafka.cimpl
import pytest

from floe.kafka.reader_limits import MIB, ReaderLimits
from floe.kafka.settings import KafkaSettings
from floe.model.ranges import OffsetRange
from floe_job.exceptions import BatchTooLarge
from floe_job.source import clients
from floe_job.source.batch import Batch
from floe_job.source.clients import Client, open_client
from floe_job.source.native.consumer import Consumer, Event, LayoutUnknown, SettingRefused
from floe_job.source.range_progress import Mode, RangeProgress
from floe_job.source.range_reader import RangeReader
from stack.services.broker import Broker

MAX = 100


FAST_ONLY = pytest.mark.parametrize("client", ["fast"], indirect=True)
"""For what is said of librdkafka's memory."""


@pytest.fixture(autouse=True, params=["fast", "portable"])
def client(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The consumer that reads: every test is of both."""
    if request.param == "portable":
        monkeypatch.setattr(clients, "obstacle", lambda *_: "the test wants it")
    return str(request.param)


@pytest.fixture
def conf(broker: Broker) -> dict[str, Any]:
    settings = {"bootstrap.servers": broker.bootstrap, "log_level": 0}
    return dict(KafkaSettings(settings, settings, "the test").reader())


def produce(conf: dict[str, Any], topic: str, records: list[dict[str, Any]], **more: Any) -> None:
    producer = ck.Producer({"bootstrap.servers": conf["bootstrap.servers"], "log_level": 0, "linger.ms": 50, **more})
    for record in records:
        producer.produce(topic, **record)
    assert producer.flush(30) == 0


@contextmanager
def reading(conf: dict[str, Any], topic: str) -> Iterator[Client]:
    with closing(open_client(conf, MAX, ReaderLimits())) as consumer:
        consumer.assign(topic, 0, 0)
        yield consumer


def to_end(consumer: Client) -> tuple[Batch, list[Event]]:
    """Read to the end of the partition."""
    parts, events = [], []
    while not events:
        part, events = consumer.consume(0.05)
        parts.append(part)
    return Batch.joined(parts), events


def by_client(conf: dict[str, Any], topic: str) -> list[ck.Message]:
    """Read to the end of the partition as anybody would."""
    consumer = ck.Consumer(conf)
    consumer.assign([ck.TopicPartition(topic, 0, 0)])
    found: list[ck.Message] = []
    while not found or found[-1].error() is None:
        found += consumer.consume(MAX, 0.05)
    consumer.close()
    return found[:-1]


RECORDS: list[dict[str, Any]] = [
    {"value": b"plain"},
    {"value": None, "key": b"tombstone"},
    {"value": b"", "key": b""},
    {"value": b"x" * 200_000, "key": b"k" * 5_000},
    {"value": b"named", "headers": [("a", b"1"), ("b", None), ("a", b""), ("", b"2"), ("\u00fc", b"\x00\xff")]},
    {"value": b"early", "timestamp": 1},
    *({"value": b"%d" % n, "key": b"%d" % (n % 7)} for n in range(300)),
]


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
        assert batch.nbytes == sum(len(m) + len(m.key() or b"") for m in expected)
        assert (end.topic, end.partition, end.offset) == (one, 0, len(RECORDS))
        assert end.error.code() == ck.KafkaError._PARTITION_EOF


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


# -- large batches ----------------------------------------------------------------------------------------------------

MB = 1_000_000


def most_at_once(conf: dict[str, Any], topic: str, count: int, limits: ReaderLimits) -> int:
    """Read a range in a process of its own; return by how many bytes its memory grew at most."""
    program = (
        "import json, sys\n"
        "from contextlib import closing\n"
        "from floe.kafka.reader_limits import ReaderLimits\n"
        "from floe.model.ranges import OffsetRange\n"
        "from floe_job.memory_tuning import tuned_memory\n"
        "from floe_job.source.range_reader import RangeReader\n"
        "def kept(name):\n"
        "    return [int(x.split()[1]) * 1024 for x in open('/proc/self/status') if x.startswith(name)][0]\n"
        "conf, topic, count, *limits = json.loads(sys.argv[1])\n"
        "before, read = kept('VmRSS'), 0\n"
        "with tuned_memory(), closing(RangeReader.open(conf, ReaderLimits(*limits))) as reader:\n"
        "    for batch in reader.read(OffsetRange(topic, 'x', 0, 0, count)):\n"
        "        read += len(batch)\n"
        "        del batch\n"
        "assert read == count, read\n"
        "print(kept('VmHWM') - before)\n"
    )
    given = json.dumps([conf, topic, count, *astuple(limits)])
    done = subprocess.run(
        [sys.executable, "-c", program, given],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return int(done.stdout)


@pytest.mark.parametrize(
    ("client", "codec"),
    [*(("fast", codec) for codec in ("gzip", "snappy", "lz4", "zstd")), ("portable", "gzip"), ("portable", "zstd")],
    indirect=["client"],
)
def test_batches_that_burst_are_decompressed_one_by_one(
    conf: dict[str, Any], topic: Callable[..., str], client: str, codec: str
) -> None:
    name = topic()
    for _ in range(20):
        produce(conf, name, [{"value": b"x" * 9 * MB}], **{"compression.type": codec, "message.max.bytes": 100 * MB})
    limits = ReaderLimits(memory=64 * MIB, is_portable=client == "portable")
    copies = 2 if limits.is_portable else 1  # each record is an object of Python's too
    assert most_at_once(conf, name, 20, limits) < copies * 64 * MIB


@FAST_ONLY
@pytest.mark.parametrize(
    ("codec", "part", "bursts"),
    [("zstd", "value", 20), ("zstd", "key", 20), ("zstd", "headers", 20), ("gzip", "headers", 6)],
)
def test_burst_after_small_batches_is_bounded(
    conf: dict[str, Any], topic: Callable[..., str], codec: str, part: str, bursts: int
) -> None:
    name, large = topic(), b"x" * 9 * MB
    burst: dict[str, Any] = {"value": b"v", part: [("h", large)] if part == "headers" else large}
    more = {"compression.type": codec, "message.max.bytes": 100 * MB, "batch.num.messages": 1, "linger.ms": 0}
    produce(conf, name, [{"value": b"small"}] * 300, **more)
    produce(conf, name, [burst] * bursts, **more)
    produce(conf, name, [{"value": b"small"}] * 100, **more)
    assert most_at_once(conf, name, 400 + bursts, ReaderLimits(memory=64 * MIB)) < 64 * MIB


@FAST_ONLY
@pytest.mark.parametrize("codec", ["zstd", "gzip"])
def test_burst_after_many_tiny_batches_is_bounded(
    conf: dict[str, Any], topic: Callable[..., str], codec: str, modes: list[Mode]
) -> None:
    name = topic()
    tiny = {"batch.size": 4000, "linger.ms": 5}
    more = {"compression.type": codec, "message.max.bytes": 100 * MB, "batch.num.messages": 1, "linger.ms": 0}
    produce(conf, name, [{"value": b"%04d" % (i % 10_000) * 100} for i in range(6_000)], **tiny)
    produce(conf, name, [{"value": b"x" * 9 * MB}] * 6, **more)
    produce(conf, name, [{"value": b"small"}] * 40, **more)
    limits = ReaderLimits(memory=64 * MIB)
    assert most_at_once(conf, name, 6_046, limits) < 64 * MIB
    with closing(RangeReader.open(conf, limits)) as reader:
        assert sum(len(batch) for batch in reader.read(OffsetRange(name, "x", 0, 0, 6_046))) == 6_046
    assert [mode for mode, _ in itertools.groupby(modes)] == [Mode.MANY, Mode.VERY_MANY, Mode.ONE, Mode.MANY]


@pytest.fixture
def modes(monkeypatch: pytest.MonkeyPatch) -> list[Mode]:
    """How a reader asked for records, each time that it began to."""
    found: list[Mode] = []
    begin = RangeProgress.begin

    def noted(self: RangeProgress, mode: Mode, consumer: Client) -> None:
        found.append(mode)
        begin(self, mode, consumer)

    monkeypatch.setattr(RangeProgress, "begin", noted)
    return found


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_batch_beyond_the_limit_is_refused_with_its_place(
    conf: dict[str, Any], topic: Callable[..., str], codec: str
) -> None:
    name = topic()
    produce(conf, name, [{"value": b"small"}])
    more = {"compression.type": codec, "message.max.bytes": 100 * MB, "batch.size": 100 * MB}
    produce(conf, name, [{"value": b"x" * 4000} for _ in range(2000)], **more, **{"batch.num.messages": 100_000})
    limits = ReaderLimits(largest_batch=2 * MB)
    with (
        closing(RangeReader.open(conf, limits)) as reader,
        pytest.raises(BatchTooLarge, match=rf"at offset 1 of {name}-0 .*floe\.batch\.max-bytes"),
    ):
        list(reader.read(OffsetRange(name, "x", 0, 0, 2001)))


# -- which of the two -------------------------------------------------------------------------------------------------


@FAST_ONLY
@pytest.mark.parametrize(
    ("more", "limits", "version", "reason"),
    [
        ({}, ReaderLimits(), 0x021000FF, None),
        ({}, ReaderLimits(is_portable=True), 0x021000FF, "floe.consumer is portable"),
        ({}, ReaderLimits(), 0x021100FF, "is not the version"),
        ({"oauth_cb": print}, ReaderLimits(), 0x021000FF, "callbacks: \\['oauth_cb'\\]"),
        ({"sasl.oauthbearer.metadata.authentication.type": "aws_iam"}, ReaderLimits(), 0x021000FF, "in Python"),
    ],
)
def test_portable_consumer_is_taken_where_it_must(
    more: dict[str, Any], limits: ReaderLimits, version: int, reason: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients.librdkafka, "version", lambda: version)
    found = clients.obstacle(more, limits)
    assert found is None if reason is None else re.search(reason, str(found))


@FAST_ONLY
def test_layout_that_is_not_known_is_read_portably(
    conf: dict[str, Any], topic: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = topic()
    produce(conf, one, RECORDS)

    def misread(*_: object) -> None:
        msg = "a message says partition 7"
        raise LayoutUnknown(msg)

    monkeypatch.setattr(Consumer, "_check_layout", misread)
    with closing(RangeReader.open(conf)) as reader:
        found = [v for batch in reader.read(OffsetRange(one, "id", 0, 0, len(RECORDS))) for v in batch.values]
    assert found == [record["value"] for record in RECORDS]
