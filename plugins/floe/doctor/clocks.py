"""A check of clocks: this machine's against those of the brokers and of the schema registry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime

from floe.doctor.case import Case, Clock
from floe.doctor.finding import About, Finding
from floe.kafka.exceptions import KafkaError
from floe.model.ranges import TopicPartition

MAX_SECONDS = 30
REMEDY = "synchronize the clocks (NTP) of this machine and of the servers: commit times and time windows come from them"


def find_clocks(case: Case, about: About) -> Iterator[Finding]:
    """Compare this machine's time with what servers gave when they were asked.

    Brokers say their time by the marker that ended the transaction of this diagnosis. Another writer's record may be newer,
    so a broker that is behind is found, and one that is ahead is either it or that writer.
    """
    clocks = list(case.clocks)
    if case.marked is not None:
        with suppress(KafkaError):  # why they do not answer is said by the checks of the brokers
            clocks += _of_brokers(case, case.marked)
    for clock in {one.where: one for one in clocks}.values():
        behind = (clock.here - clock.there).total_seconds()
        if abs(behind) > MAX_SECONDS:
            how = f"{abs(behind):,.0f} s {'behind' if behind > 0 else 'ahead of'}"
            yield about.warning(f"the clock of {clock.where} is {how} this machine's", REMEDY)
        else:
            yield about.ok(f"the clock of {clock.where} agrees with this machine's within {MAX_SECONDS} s")
    if not clocks:
        yield about.not_checked("no server gave its time")


def _of_brokers(case: Case, marked: datetime) -> list[Clock]:
    """Return the time of the newest marker or record, beside the one of this machine that it may be at best."""
    name = case.connector.control_topic
    partitions = case.control.topics([name])[name].partitions
    newest = max(case.control.newest_timestamps(TopicPartition(name, one) for one in partitions).values())
    if newest <= 0:
        return []  # of a broker that gives no time of markers, nothing is known
    there = datetime.fromtimestamp(newest / 1000, UTC)
    return [Clock("the brokers", there, min(max(there, marked), datetime.now(UTC)))]
