"""Checks of the topics that are read: are they there, may they be read, how long are records kept?"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice

import confluent_kafka as ck
from confluent_kafka.admin import AclOperation  # type: ignore[attr-defined]

from floe.doctor.check import About, Case, Finding
from floe.exceptions import with_code
from floe.kafka.access import Action, Client, NotPermitted
from floe.kafka.client_log import ClientLog
from floe.kafka.exceptions import KafkaMisconfigured
from floe.kafka.tokens import with_tokens
from floe.kafka.transactions import ControlRecord, TransactionalProducer
from floe.model.offsets import TopicPartition

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


# Checks of the topics that are written: do they keep records, may this client write to them, in transactions too?


SHORT_CONTROL_RETENTION_MS = 24 * 3_600_000
SMALL_RECORD_BYTES, SMALL_LOG_BYTES = 1_000_000, 100 * 1024**2
_PROBE = ControlRecord(b"probe of floe doctor", [("floe-doctor", b"1")])


def find_control_topic(case: Case, about: About) -> Iterator[Finding]:
    """Look at the topic's cleanup policy, its retention and its ACLs."""
    name = case.connector.control_topic
    denied = _denied(case, name)
    for word, title in denied.items():
        yield about.problem(f"control topic {name!r} may not be {word}", f"grant {title} on topic {name!r}")
    if len(denied) > 1:
        return  # a client without any right may not describe it
    if not case.control.topics([name]):
        yield about.warning(
            f"control topic {name!r} does not exist yet",
            "the first run creates it, if the brokers let it; otherwise create it with cleanup.policy=delete",
        )
        return
    try:
        configuration = case.control.configuration(name)
        yield _kept(about, name, configuration)
        yield from _limits(about, name, configuration)
    except KafkaMisconfigured as error:
        yield about.problem(
            str(error), f"grant DescribeConfigs on topic {name!r}: each run looks at its cleanup.policy"
        )


def find_transactions(case: Case, about: About) -> Iterator[Finding]:
    """Write to the control topic in a transaction that is aborted, by a transactional id of the doctor's own."""
    name = case.connector.control_topic
    prefix = f"{case.connector.committing.transactional_prefix}floe-{case.connector.name}-"
    if not case.write:
        yield about.not_checked("nothing is written with --read-only")
    elif not case.control.topics([name]):
        yield about.not_checked(f"control topic {name!r} does not exist yet")
    else:
        try:
            producer = TransactionalProducer.open(case.kafka, f"{prefix}doctor")
            producer.rehearse(name, case.connector.group_id, _PROBE)
        except NotPermitted as error:
            remedy = f"grant Write on the TransactionalIds that begin with {prefix!r}"
            yield about.problem(with_code(str(error), error.code), remedy)
            return
        yield about.ok(f"a transaction on {name!r} was written and aborted")
        case.marked = datetime.now(UTC)


def find_dead_letter_topic(case: Case, about: About) -> Iterator[Finding]:
    """Look at the topic of dead letters, where the connector has one."""
    name = case.connector.errors.topic
    if name is None:
        yield about.ok("the connector has no dead-letter topic")
        return
    if case.control.without_right([name], AclOperation.WRITE):
        yield about.problem(f"dead-letter topic {name!r} may not be written", f"grant Write on topic {name!r}")
        return
    if not case.control.topics([name]):
        remedy = (
            "the first dead letter creates it, if the brokers let it; otherwise create it with cleanup.policy=delete"
        )
        yield about.warning(f"dead-letter topic {name!r} does not exist yet", remedy)
        return
    with suppress(KafkaMisconfigured):  # dead letters are only written: no further permission is required
        if "compact" in case.control.configuration(name).get("cleanup.policy", ""):
            yield about.problem(f"dead-letter topic {name!r} is compacted", "set cleanup.policy=delete on it")
            return
    yield about.ok(f"dead-letter topic {name!r} may be written")


def _denied(case: Case, name: str) -> dict[str, str]:
    """Return what this client may not do with the topic, and the ACL for it."""
    wanted = ((AclOperation.READ, "read"), (AclOperation.WRITE, "written"))
    return {
        word: operation.name.capitalize() for operation, word in wanted if case.control.without_right([name], operation)
    }


def _limits(about: About, name: str, configuration: dict[str, str]) -> Iterator[Finding]:
    """Yield what refuses a large announcement, and what removes an early one."""
    size, kept = (configuration.get(key, "") for key in ("max.message.bytes", "retention.bytes"))
    if size.isdecimal() and int(size) < SMALL_RECORD_BYTES:
        yield about.warning(
            f"control topic {name!r} takes records of at most {int(size):,} bytes",
            "increase its max.message.bytes to 1048588, the default: a run with many files is refused otherwise",
        )
    if kept.isdecimal() and int(kept) < SMALL_LOG_BYTES:
        yield about.warning(
            f"control topic {name!r} keeps at most {int(kept):,} bytes of each partition",
            "set its retention.bytes to -1: events that are removed early are not found by a run that is repeated",
        )


def _kept(about: About, name: str, configuration: dict[str, str]) -> Finding:
    policy, kept = configuration.get("cleanup.policy", ""), configuration.get("retention.ms", "-1")
    if "compact" in policy:
        return about.problem(
            f"control topic {name!r} is compacted (cleanup.policy={policy}): announcements share a key and would be lost",
            "set cleanup.policy=delete on it",
        )
    if kept.isdecimal() and int(kept) < SHORT_CONTROL_RETENTION_MS:
        return about.warning(
            f"control topic {name!r} keeps events for {int(kept) / 3_600_000:.3g} h",
            "increase its retention.ms to a week: a run that is repeated later does not find what an earlier try wrote",
        )
    shown = "for ever" if not kept.isdecimal() else f"for {int(kept) / 3_600_000:.3g} h"
    return about.ok(f"control topic {name!r} has cleanup.policy={policy} and keeps events {shown}")


# Checks of the connector's group: may its offsets be read and committed, and does no other consumer use it?


def find_group(case: Case, about: About) -> Iterator[Finding]:
    """Describe the group, and read its committed offsets."""
    group = case.connector.group_id
    if not case.control.may_commit(group):
        yield about.problem(
            f"offsets of group {group!r} may not be committed", f"grant Read on group {group!r}: commits need it"
        )
    case.control.check_no_members(group)
    committed = case.control.positions(group)
    if not committed:
        yield about.ok(f"group {group!r} has no committed offsets: the connector has not run yet")
        return
    own = {tp for tp in committed if tp.topic in case.topics}
    yield about.ok(f"group {group!r} has committed offsets of {len(own)} partition{'' if len(own) == 1 else 's'}")
