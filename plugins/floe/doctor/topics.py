"""Checks of the topics that are read: are they there, may they be read, how long are records kept?"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from itertools import islice

import confluent_kafka as ck

from floe.doctor.case import Case
from floe.doctor.finding import About, Finding
from floe.kafka.access import Action, Client
from floe.kafka.client_log import ClientLog
from floe.kafka.exceptions import KafkaMisconfigured
from floe.kafka.tokens import with_tokens
from floe.model.ranges import TopicPartition

MAX_TOPICS = 20
"""Topics that are looked at one by one; of more, the first ones."""
SHORT_RETENTION_MS = 3_600_000
FETCH_SECONDS = 12.0
_HOUR_MS = 3_600_000


def find_topics(case: Case, about: About) -> Iterator[Finding]:
    """Look each topic up, with its partitions and its retention. Raises ConfigError for an expression that matches none."""
    names = case.topics[:MAX_TOPICS]
    found = case.source.topics(names)
    brokers = case.kafka.source.get("bootstrap.servers")
    for name in names:
        if name not in found:
            yield about.problem(
                f"topic {name!r} does not exist on {brokers}", "create it, or correct topics in the connector"
            )
            continue
        many = len(found[name].partitions)
        yield _with_retention(case, about, name, f"topic {name!r} has {many} partition{'' if many == 1 else 's'}")
    if len(case.topics) > MAX_TOPICS:
        yield about.not_checked(f"{len(case.topics) - MAX_TOPICS} more topics")


def find_reading(case: Case, about: About) -> Iterator[Finding]:
    """Ask for the ACLs of each topic, and fetch from it."""
    names = case.topics[:MAX_TOPICS]
    described, denied = case.source.readable(names)
    for name in sorted(denied):
        yield about.problem(f"topic {name!r} may not be read", f"grant Read on topic {name!r}: a run leaves it out")
    found = {name: one for name, one in described.items() if name not in denied}
    starts: dict[str, tuple[int, int]] = {}
    for name, description in found.items():
        tps = [TopicPartition(name, partition) for partition in description.partitions]
        begins, ends = case.source.log_starts(tps), case.source.stable_ends(tps)
        filled = [tp for tp in tps if ends[tp] > begins[tp]]
        if filled:
            starts[name] = (filled[0].partition, begins[filled[0]])
    failed = _fetch(case, starts) if starts else {}
    for name, why in failed.items():
        yield about.problem(f"no record of topic {name!r} can be fetched: {why}", f"grant Read on topic {name!r}")
    if found and not failed:
        yield about.ok(
            f"records of {len(starts)} topic{'' if len(starts) == 1 else 's'} can be fetched"
            + (f", {len(found) - len(starts)} have none" if len(found) > len(starts) else "")
        )


def _with_retention(case: Case, about: About, name: str, text: str) -> Finding:
    try:
        configuration = case.source.configuration(name)
    except KafkaMisconfigured:
        return about.ok(f"{text}; its retention is not known without DescribeConfigs")
    if "delete" not in configuration.get("cleanup.policy", "delete"):
        return about.ok(f"{text}; it is compacted, and keeps the newest record of each key")
    kept = _number(configuration.get("retention.ms"))
    size = _number(configuration.get("retention.bytes"))
    by_size = f", and at most {size:,} bytes of each partition" if size >= 0 else ""
    if kept < 0:
        return about.ok(f"{text}; it keeps records for ever{by_size}")
    text = f"{text}; it keeps records for {kept / _HOUR_MS:.3g} h{by_size}"
    if kept < max(SHORT_RETENTION_MS, 3 * case.connector.committing.interval_ms):
        return about.warning(
            text, "increase retention.ms: records that no run has read by then are lost, after a short outage too"
        )
    return about.ok(text)


def _number(text: str | None) -> int:
    try:
        return int(text or -1)
    except ValueError:
        return -1


def _fetch(case: Case, starts: Mapping[str, tuple[int, int]]) -> dict[str, str]:
    """Fetch a record of one partition of each topic, by its partition and offset; return which cannot be, and why.

    The end of a partition is an answer, too: all its records are of aborted transactions.
    """
    client_log = ClientLog()
    consumer = ck.Consumer({**with_tokens(case.kafka.reader()), "logger": client_log})
    client = Client.of(case.kafka.source, case.kafka.origin)
    waiting = dict.fromkeys(starts, f"no answer within {FETCH_SECONDS:g} s")
    failed: dict[str, str] = {}
    try:
        consumer.assign([ck.TopicPartition(topic, *place) for topic, place in starts.items()])
        end = time.monotonic() + FETCH_SECONDS
        while waiting and time.monotonic() < end:
            for message in consumer.consume(len(starts), 0.5):
                reason, topic = message.error(), message.topic()
                if topic is None:
                    continue  # of the client: a group that it never uses, or a connection that it tries again
                waiting.pop(topic, None)
                if reason is not None and reason.code() != ck.KafkaError._PARTITION_EOF:
                    action = Action(f"fetch from topic {topic!r}", f"Read on topic {topic!r}")
                    failed[topic] = str(client.error(reason, action, client_log.drained(consumer)))
    finally:
        consumer.close()
    return dict(islice((failed | waiting).items(), MAX_TOPICS))
