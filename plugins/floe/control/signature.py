"""Signatures of control records: only a writer that has its plan's key can announce.

The header ``floe-mac`` reads ``1:<attempt>:<i>/<n>:<mac>``. One attempt is one transaction of one producer, ``i`` of ``n`` a
record's place in it. The MAC covers attempt, place, floe's other headers in the order of their names, and the value
bytes, each after its length. The last record's MAC also covers the MACs of all records before it.
"""

import hmac
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from floe.control import headers as h
from floe.control.topic_reader import ControlMessage
from floe.kafka.transactions import ControlRecord
from floe.model.plan_seal import DeploymentKey, PlanKey

FORMAT = "1"
PREFIX = "floe-"
"""Prefix of the headers that are covered: all of floe's."""

_HEADER = re.compile(rf"{FORMAT}:([0-9a-f]{{16}}):([1-9]\d{{0,6}})/([1-9]\d{{0,6}}):([0-9a-f]{{64}})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Signature:
    """The contents of a ``floe-mac`` header, verified or not."""

    attempt: str
    place: int
    count: int
    mac: str

    @classmethod
    def of(cls, headers: Mapping[str, str]) -> "Signature | None":
        """Read the header; None when it is missing, or floe did not write it."""
        found = _HEADER.fullmatch(headers.get(h.MAC, ""))
        if found is None:
            return None
        return cls(found[1], int(found[2]), int(found[3]), found[4])

    @property
    def is_last(self) -> bool:
        return self.place == self.count

    def holds(self, key: PlanKey, message: ControlMessage, earlier: Sequence[str] = ()) -> bool:
        """Say whether the record's MAC is right. ``earlier``: the MACs of the attempt so far, which its last one covers."""
        macs = earlier if self.is_last else ()
        return hmac.compare_digest(self.mac, _mac(key, self, message.headers, message.value, macs))


def signed(key: PlanKey | None, records: Sequence[ControlRecord]) -> list[ControlRecord]:
    """Return the records of one transaction, signed as one attempt; unchanged without a key."""
    if key is None:
        return list(records)
    attempt = secrets.token_hex(8)
    macs: list[str] = []
    found = []
    for i, record in enumerate(records, start=1):
        headers = {name: _text(value) for name, value in record.headers}
        blank = Signature(attempt, i, len(records), "")
        mac = _mac(key, blank, headers, record.value, macs if blank.is_last else ())
        macs.append(mac)
        text = f"{FORMAT}:{attempt}:{i}/{len(records)}:{mac}"
        found.append(ControlRecord(record.value, [*record.headers, (h.MAC, text)]))
    return found


def is_signed(deployment: DeploymentKey, message: ControlMessage) -> bool:
    """Say whether a single record, such as a CommitToTable before its CommitComplete, was signed by its plan."""
    signature = Signature.of(message.headers)
    plan_id = message.headers.get(h.SLICE, "").rpartition("/")[0]
    return signature is not None and any(signature.holds(key, message) for key in deployment.plan_keys(plan_id))


def _mac(key: PlanKey, place: Signature, headers: Mapping[str, str], value: bytes, earlier: Sequence[str]) -> str:
    return key.sign(_covered(place, headers, value, earlier))


def _covered(place: Signature, headers: Mapping[str, str], value: bytes, earlier: Sequence[str]) -> Iterator[bytes]:
    yield f"{FORMAT}:{place.attempt}:{place.place}/{place.count}".encode()
    own = sorted((name, text) for name, text in headers.items() if name.startswith(PREFIX) and name != h.MAC)
    yield str(len(own)).encode()
    for name, text in own:
        yield name.encode("utf-8", "surrogatepass")
        yield text.encode("utf-8", "surrogatepass")
    yield value
    yield "".join(earlier).encode()


def _text(value: str | bytes | None) -> str:
    return value if isinstance(value, str) else (value or b"").decode("utf-8", "replace")
