"""Gaps between offsets are only gaps while offsets rise."""

import re

import numpy as np
import pytest
from confluent_kafka import KafkaError

from floe.model.offsets import OffsetRange
from floe_job.exceptions import BatchCorrupt, BatchTooLarge, RangeLost, ReadFailed, ReadNotPermitted
from floe_job.source.native.consumer import ConsumerEvent
from floe_job.source.range_reader import check_epoch, check_order, is_end

RANGE = OffsetRange("orders", "id", 0, 10, 100)


@pytest.mark.parametrize("offsets", [[10], [10, 11, 50], [12, 99]])
def test_rising_offsets_are_taken(offsets: list[int]) -> None:
    check_order(RANGE, 9, np.array(offsets))


@pytest.mark.parametrize(
    ("after", "offsets", "named"), [(9, [9], 9), (20, [20, 21], 20), (9, [10, 12, 12], 12), (9, [11, 10], 10)]
)
def test_an_offset_that_comes_again_is_named(after: int, offsets: list[int], named: int) -> None:
    with pytest.raises(ReadFailed, match=f"offset {named} of orders-0"):
        check_order(RANGE, after, np.array(offsets))


@pytest.mark.parametrize(("planned", "found"), [(None, 5), (5, None), (5, 5), (5, 4)])
def test_record_of_the_planned_leader_epoch_or_an_earlier_one_is_taken(planned: int | None, found: int | None) -> None:
    check_epoch(RANGE, planned, found)


def test_record_of_a_later_leader_epoch_shows_a_truncated_log() -> None:
    with pytest.raises(RangeLost, match=r"log of orders-0 was truncated.*leader epoch 6.*planned in epoch 5"):
        check_epoch(RANGE, 5, 6)


def test_record_of_an_epoch_is_not_of_a_log_whose_broker_keeps_none() -> None:
    check_epoch(RANGE, 5, None, is_known=False)
    with pytest.raises(RangeLost, match="was truncated"):
        check_epoch(RANGE, 5, 4, is_known=False)


@pytest.mark.parametrize("code", [KafkaError._LOG_TRUNCATION, KafkaError._AUTO_OFFSET_RESET])
def test_client_that_finds_a_truncated_log_loses_the_range(code: int) -> None:
    error = KafkaError(code, "Partition log truncation detected at offset 10: broker end offset is 7")
    with pytest.raises(RangeLost, match="was truncated since the range"):
        is_end(RANGE, ConsumerEvent("orders", 0, 10, error))


def end_of(topic: str, partition: int, offset: int) -> ConsumerEvent:
    return ConsumerEvent(topic, partition, offset, KafkaError(KafkaError._PARTITION_EOF))


@pytest.mark.parametrize(
    ("end", "ends"),
    [
        (end_of("t", 0, 10), True),
        (end_of("t", 0, 9), False),
        (end_of("t", 1, 10), False),
        (end_of("u", 0, 10), False),
    ],
)
def test_range_ends_only_at_its_own_partition_and_end(end: ConsumerEvent, ends: bool) -> None:
    assert is_end(OffsetRange("t", "id", 0, 0, 10), end) is ends


ZSTD, GZIP = "Decompression (codec 0x4) of message at 7", "Decompression (codec 0x1) of message at 7"


@pytest.mark.parametrize(
    ("code", "text", "kind"),
    [
        (KafkaError._BAD_COMPRESSION, ZSTD, BatchTooLarge),
        (KafkaError._BAD_COMPRESSION, GZIP, BatchCorrupt),
        (KafkaError._BAD_MSG, "MessageSet at offset 7 (90 bytes) failed CRC32C check", BatchCorrupt),
        (KafkaError.MSG_SIZE_TOO_LARGE, "Message at offset 7 might be too large to fetch", BatchTooLarge),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "Fetch from broker 1 failed", ReadNotPermitted),
    ],
)
def test_refused_batch_is_too_large_or_corrupt(code: int, text: str, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=re.escape(text)) as refused:
        is_end(OffsetRange("t", "id", 0, 0, 10), ConsumerEvent("t", 0, 7, KafkaError(code, text)))
    assert ("floe.batch.max-bytes" in str(refused.value)) is (kind is BatchTooLarge)
    assert ("at offset 7 of t-0" in str(refused.value)) is (kind in (BatchCorrupt, BatchTooLarge))


def test_error_of_another_request_ends_nothing() -> None:
    lost = ConsumerEvent("", 0, -1001, KafkaError(KafkaError._BAD_MSG, "FindCoordinator"))
    assert not is_end(OffsetRange("t", "id", 0, 0, 7), lost)


def test_refused_batch_beyond_the_range_ends_it() -> None:
    assert is_end(OffsetRange("t", "id", 0, 0, 7), ConsumerEvent("t", 0, 7, KafkaError(KafkaError._BAD_MSG, "CRC32C")))
