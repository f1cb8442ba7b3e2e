"""Checks of the topics that are written: do they keep records, may this client write to them, in transactions too?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime

from confluent_kafka.admin import AclOperation  # type: ignore[attr-defined]

from floe.doctor.case import Case
from floe.doctor.finding import About, Finding
from floe.exceptions import with_code
from floe.kafka.access import NotPermitted
from floe.kafka.exceptions import KafkaMisconfigured
from floe.kafka.transactions import ControlRecord, TransactionalProducer

SHORT_RETENTION_MS = 24 * 3_600_000
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
    if kept.isdecimal() and int(kept) < SHORT_RETENTION_MS:
        return about.warning(
            f"control topic {name!r} keeps events for {int(kept) / 3_600_000:.3g} h",
            "increase its retention.ms to a week: a run that is repeated later does not find what an earlier try wrote",
        )
    shown = "for ever" if not kept.isdecimal() else f"for {int(kept) / 3_600_000:.3g} h"
    return about.ok(f"control topic {name!r} has cleanup.policy={policy} and keeps events {shown}")
