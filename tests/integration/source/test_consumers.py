"""Which of the two consumers is taken."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from floe.kafka.reader_limits import ReaderLimits
from floe.model.offsets import OffsetRange
from floe_job.source import range_reader
from floe_job.source.native.consumer import Consumer, LayoutUnknown
from floe_job.source.range_reader import RangeReader
from tests.support.kafka.source_clients import FAST_ONLY, RECORDS, produce

pytestmark = pytest.mark.usefixtures("client")


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
    monkeypatch.setattr(range_reader.librdkafka, "version", lambda: version)
    found = range_reader.obstacle(more, limits)
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
