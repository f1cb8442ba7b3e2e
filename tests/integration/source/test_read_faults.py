"""What a range does that does not go on, and what a batch is refused with."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import confluent_kafka as ck
import pytest

from floe.kafka.admin import Cluster
from floe.kafka.reader_limits import MIB, ReaderLimits
from floe.kafka.settings import KafkaSettings
from floe.model.offsets import OffsetRange
from floe_job.exceptions import BatchCorrupt, BatchTooLarge, RangeStalled
from floe_job.source.range_reader import RangeReader
from stack.services.broker import Broker
from tests.support.kafka.compaction import COMPACTED, compacted_batches
from tests.support.kafka.open_transactions import wait_for_markers
from tests.support.kafka.proxy import Api, KafkaProxy
from tests.support.kafka.record_batches import break_batch

STALL = 0.6
"""Seconds without progress, in these tests."""

LONG_STALL = 1.5
"""The same, where no answer may take as long, however busy the machine is."""

BY_HAND = r"leave this batch out: docs/how-to/skip-records\.md"


pytestmark = pytest.mark.usefixtures("client")


@pytest.fixture
def cluster(broker: Broker) -> Cluster:
    source = {"bootstrap.servers": broker.bootstrap, "log_level": 0}
    return Cluster.of_source(KafkaSettings(source, source, "the test"))


def settings(bootstrap: str, limits: ReaderLimits | None = None) -> dict[str, Any]:
    source = {"bootstrap.servers": bootstrap, "log_level": 0}
    return dict(KafkaSettings(source, source, "the test").reader(limits))


def produce(broker: Broker, topic: str, values: list[bytes], **more: Any) -> None:
    """Send values as one batch."""
    whole = {"linger.ms": 500, "message.max.bytes": 100_000_000, "batch.size": 100_000_000}
    producer = ck.Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0, **whole, **more})
    producer.list_topics(topic, 30)  # what is produced before the partitions are known may go in a batch of its own
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(30) == 0


def values(reader: RangeReader, r: OffsetRange) -> Iterator[bytes]:
    for batch in reader.read(r):
        yield from batch.values


# -- progress ---------------------------------------------------------------------------------------------------------


def test_range_without_progress_fails_with_both_ways_out(
    broker: Broker, proxy: KafkaProxy, topic: Callable[..., str]
) -> None:
    name = topic()
    produce(broker, name, [b"first"])
    produce(broker, name, [b"second"])

    def swallow(api: int, frame: bytes) -> bytes:
        proxy.is_blackhole = proxy.is_blackhole or (api == Api.FETCH and b"first" in frame)
        return frame

    limits = ReaderLimits(stall_seconds=STALL)
    with closing(RangeReader.open(settings(proxy.bootstrap), limits)) as reader:
        # the first batch passes, what the client asks for next disappears
        assert list(values(reader, OffsetRange(name, "id", 0, 0, 1))) == [b"first"]
        proxy.on_frame = swallow
        began = time.monotonic()
        with pytest.raises(RangeStalled) as refused:
            list(values(reader, OffsetRange(name, "id", 0, 0, 2)))
    assert STALL < time.monotonic() - began < 60  # where it would wait for ever
    message = str(refused.value)
    assert message.startswith(f"nothing came from {name}-0 at offset 0 for {STALL:g} s (range {name}-0[0, 2)")
    assert "Nothing was announced and no offset was committed. Check the broker and run again. " in message
    assert BY_HAND.replace("\\", "") in message


def test_stretch_of_aborted_records_is_progress(
    broker: Broker, proxy: KafkaProxy, topic: Callable[..., str], cluster: Cluster
) -> None:
    name = topic()
    producer = ck.Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": name, "log_level": 0})
    producer.init_transactions(30)
    for _ in range(15):
        producer.begin_transaction()
        producer.produce(name, b"x" * 60_000)  # an answer has room for one
        producer.flush(30)
        producer.abort_transaction(30)
    produce(broker, name, [b"last"])
    end = wait_for_markers(cluster, name)[0]
    # each answer is quicker than the limit, all of them are not
    limits = ReaderLimits(stall_seconds=LONG_STALL)
    assert seconds_to_read(proxy, OffsetRange(name, "id", 0, 0, end), LONG_STALL / 6, limits) > 2 * LONG_STALL


@pytest.fixture(scope="module")
def compacted(broker: Broker, topic: Callable[..., str]) -> OffsetRange:
    """Batches that compaction has emptied, for both consumers; the last record is b"last"."""
    name = topic(**COMPACTED)
    return OffsetRange(name, "id", 0, 0, compacted_batches(broker.bootstrap, name, 10))


def test_stretch_of_compacted_batches_is_progress(proxy: KafkaProxy, compacted: OffsetRange) -> None:
    limits = ReaderLimits(stall_seconds=LONG_STALL)
    assert seconds_to_read(proxy, compacted, LONG_STALL / 6, limits) > LONG_STALL


def seconds_to_read(proxy: KafkaProxy, r: OffsetRange, delay: float, limits: ReaderLimits) -> float:
    """Read a range whose last record is b"last", each answer after some seconds; return how long it took."""
    conf = settings(proxy.bootstrap) | {"fetch.message.max.bytes": 1}  # which grows with each answer without records
    with closing(RangeReader.open(conf, limits)) as reader:
        assert list(values(reader, OffsetRange(r.topic, "id", 0, r.end - 1, r.end)))[-1:] in ([], [b"last"])  # connects
        proxy.delay = delay
        began = time.monotonic()
        assert list(values(reader, r))[-1:] == [b"last"]
        return time.monotonic() - began


# -- batches that are refused -----------------------------------------------------------------------------------------

NOISE = random.Random(4).randbytes(300)


def refused(proxy: KafkaProxy, r: OffsetRange, limits: ReaderLimits) -> str:
    """Read a range that cannot be read; return the error's type and message."""
    with (
        closing(RangeReader.open(settings(proxy.bootstrap, limits), limits)) as reader,
        pytest.raises((BatchCorrupt, BatchTooLarge)) as error,
    ):
        list(values(reader, r))
    return f"{type(error.value).__name__}: {error.value}"


@pytest.mark.parametrize(
    ("codec", "checksum"), [("none", False), ("gzip", False), ("snappy", False), ("lz4", False), ("gzip", True)]
)
def test_corrupt_batch_is_refused_as_corrupt(
    broker: Broker, proxy: KafkaProxy, topic: Callable[..., str], codec: str, checksum: bool
) -> None:
    name = topic()
    produce(broker, name, [b"good"])
    produce(broker, name, [NOISE, NOISE[::-1], NOISE], **{"compression.type": codec})
    proxy.on_frame = lambda api, frame: break_batch(frame, 1, checksum=checksum) if api == Api.FETCH else frame
    message = refused(proxy, OffsetRange(name, "id", 0, 0, 4), ReaderLimits())
    assert message.startswith(f"BatchCorrupt: the batch at offset 1 of {name}-0 (range {name}-0[0, 4)) is corrupt: ")
    assert "Nothing was announced and no offset was committed." in message
    assert "make a whole replica the leader" in message
    assert "leave the batch out: docs/how-to/skip-records.md" in message
    assert "floe.batch.max-bytes" not in message


def test_corrupt_batch_of_zstd_is_told_from_a_large_one(
    broker: Broker, proxy: KafkaProxy, topic: Callable[..., str]
) -> None:
    name = topic()
    produce(broker, name, [NOISE] * 3, **{"compression.type": "zstd"})
    produce(broker, name, [b"x" * 3_000_000], **{"compression.type": "zstd"})
    proxy.on_frame = lambda api, frame: break_batch(frame, 0, checksum=False) if api == Api.FETCH else frame
    limits = ReaderLimits(largest_batch=2 * MIB)
    assert refused(proxy, OffsetRange(name, "id", 0, 0, 4), limits).startswith(
        "BatchCorrupt: the batch at offset 0 of "
    )
    proxy.on_frame = None
    assert refused(proxy, OffsetRange(name, "id", 0, 0, 4), limits).startswith(
        "BatchTooLarge: the batch at offset 3 of "
    )


def test_large_batch_is_named_and_not_the_one_before_it(
    broker: Broker, proxy: KafkaProxy, topic: Callable[..., str]
) -> None:
    limits = ReaderLimits(largest_batch=2 * MIB)
    for nbytes in range(2_200_000, 3_200_000, 100_000):  # some of them lie close behind the small batch in memory
        name = topic()
        produce(broker, name, [NOISE] * 3, **{"compression.type": "zstd"})
        produce(broker, name, [b"x" * nbytes], **{"compression.type": "zstd"})
        for _ in range(5):
            message = refused(proxy, OffsetRange(name, "id", 0, 0, 4), limits)
            assert message.startswith("BatchTooLarge: the batch at offset 3 of "), nbytes


def test_corrupt_batch_beyond_the_range_is_no_matter(
    broker: Broker, proxy: KafkaProxy, topic: Callable[..., str]
) -> None:
    name = topic()
    produce(broker, name, [b"good"])
    produce(broker, name, [NOISE])
    proxy.on_frame = lambda api, frame: break_batch(frame, 1, checksum=False) if api == Api.FETCH else frame
    with closing(RangeReader.open(settings(proxy.bootstrap))) as reader:
        assert list(values(reader, OffsetRange(name, "id", 0, 0, 1))) == [b"good"]


def test_batch_larger_as_stored_is_refused_at_once(
    broker: Broker, proxy: KafkaProxy, topic: Callable[..., str]
) -> None:
    name = topic(max_message_bytes="120000000")
    produce(broker, name, [b"good"])
    produce(broker, name, [random.Random(5).randbytes(3_500_000)])
    limits = ReaderLimits()
    conf = settings(proxy.bootstrap, limits) | {"receive.message.max.bytes": 3_300_000}
    with closing(RangeReader.open(conf, limits)) as reader, pytest.raises(BatchTooLarge) as error:
        list(values(reader, OffsetRange(name, "id", 0, 0, 2)))
    assert str(error.value).startswith(
        f"the batch at offset 1 of {name}-0 (range {name}-0[0, 2)) is larger, as it is stored"
    )
