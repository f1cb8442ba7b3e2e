"""What the oracle remembers of Kafka."""

import pytest

from tests.faults.oracle.kafka_log import KafkaLog, LogKey

pytestmark = pytest.mark.ci


def test_record_that_is_not_whole_is_known_by_its_incarnation() -> None:
    log = KafkaLog()
    for topic_id in ("before", "after"):
        log.put(LogKey("orders", topic_id, 0), 0, b"{")
    assert (len(log.places), log.twice) == (2, [])
