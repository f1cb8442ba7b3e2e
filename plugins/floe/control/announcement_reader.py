"""Reading announcements back: only the first complete announcement of each slice of the plan counts."""

import logging
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from floe.control import headers as h
from floe.control.announcement import Announcement, AnnouncementPart, ModeOf, assemble
from floe.control.signature import Signature
from floe.control.topic_reader import ControlMessage
from floe.control.wire.codec import decode
from floe.control.wire.events import (
    DataComplete,
    DataWritten,
)
from floe.exceptions import FloeError
from floe.model.plan import Plan
from floe.model.plan_seal import PlanKey
from floe.model.slice_scope import SliceScope

log = logging.getLogger(__name__)

MAX_WARNINGS = 20
"""Limit of logged announcements that do not count, for each slice."""

P = TypeVar("P", DataWritten, DataComplete)


class AnnouncementReader:
    """Reads the announcements of one plan, record by record, each once; ``found``: the first complete one of each slice.

    With a ``key``, a record counts only if the plan's own writer signed it: any other is skipped before it is decoded,
    and records of two attempts are never combined. Without a key, as for plans that have no seal, all records of a slice
    count in their order. Announcements that do not count are skipped and logged: incomplete or malformed ones, ones for
    other ranges, and later ones of retried or remaining writers, which contain the same rows in other files.
    """

    def __init__(self, plan: Plan, key: PlanKey | None, mode_of: ModeOf) -> None:
        self._group_id = plan.group_id
        scopes = [SliceScope(plan, slice_) for slice_ in plan.slices]
        self._slices = {scope.slice_id: _SliceReader(scope, mode_of, key) for scope in scopes}
        self.found: dict[str, Announcement] = {}

    def feed(self, messages: Iterable[ControlMessage]) -> None:
        """Process further records; those of a partition must be in the order of their offsets."""
        for message in messages:
            slice_id = message.headers.get(h.SLICE, "")
            reader = self._slices.get(slice_id) if message.key == self._group_id else None
            if reader is None:
                continue
            if slice_id in self.found:
                reader.pass_over(message)
                continue
            announcement = reader.take(message)
            if announcement is not None:
                self.found[slice_id] = announcement

    def log_unsigned(self) -> None:
        """Log once how many unsigned records of each slice were skipped."""
        for slice_id, reader in self._slices.items():
            if reader.unsigned:
                log.warning(
                    "%s record(s) of the control topic name slice %s and were not written by its writer, the first at "
                    "offset %s. They were ignored. Check who may write to the control topic.",
                    reader.unsigned,
                    slice_id,
                    reader.first_unsigned,
                )
                reader.unsigned = 0


class _SliceReader:
    """Collects the records of one slice until an attempt is complete."""

    def __init__(self, scope: SliceScope, mode_of: ModeOf, key: PlanKey | None) -> None:
        self._scope = scope
        self._mode_of = mode_of
        self._key = key
        self._unsigned_parts: list[AnnouncementPart] = []
        self._signed: dict[tuple[int, str], dict[int, _Record]] = {}
        self._has_warned = False
        self._warned = 0
        self.unsigned = 0
        self.first_unsigned: int | None = None

    def take(self, message: ControlMessage) -> Announcement | None:
        """Process one record of the slice; return the announcement that it completes."""
        if h.PART not in message.headers and h.RANGES not in message.headers:
            return None  # a StartCommit, or the events of a commit
        try:
            return self._take_unsigned(message) if self._key is None else self._take_signed(self._key, message)
        except (
            FloeError,
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            ArithmeticError,
            RecursionError,
        ) as error:
            # any producer can write such headers, and there may be any number of such records
            self._unsigned_parts = []
            self._warned += 1
            slice_id = self._scope.slice_id
            if self._warned <= MAX_WARNINGS:
                log.warning("an announcement of slice %s at offset %s was ignored: %s", slice_id, message.offset, error)
            if self._warned == MAX_WARNINGS:
                log.warning("further announcements of slice %s are ignored without a message", slice_id)
            return None

    def pass_over(self, message: ControlMessage) -> None:
        """Note a record behind the announcement that counts."""
        if h.RANGES in message.headers and not self._has_warned:
            self._has_warned = True
            slice_id = self._scope.slice_id
            log.warning("slice %s was announced again at %s; the first announcement is used", slice_id, message.offset)

    def _take_unsigned(self, message: ControlMessage) -> Announcement | None:
        event = decode(message.value)
        if event.group_id != self._scope.plan.group_id:
            return None
        if isinstance(event.payload, DataWritten):
            self._unsigned_parts.append(AnnouncementPart(event.payload, message.headers))
        elif isinstance(event.payload, DataComplete):
            parts, self._unsigned_parts = self._unsigned_parts, []
            return assemble(self._scope, self._mode_of, parts, event.payload, message)
        return None

    def _take_signed(self, key: PlanKey, message: ControlMessage) -> Announcement | None:
        """Verify a record, and keep it undecoded until the last one of its attempt verifies all of them."""
        signature = Signature.of(message.headers)
        attempt = (message.partition, signature.attempt if signature is not None else "")
        records = self._signed.get(attempt, {})
        is_last = signature is not None and signature.is_last
        parts = [one for _, one in sorted(records.items())] if is_last else []
        if signature is None or not signature.holds(key, message, [one.mac for one in parts]):
            self.unsigned += 1
            if self.first_unsigned is None:
                self.first_unsigned = message.offset
            return None
        if not is_last:
            self._signed.setdefault(attempt, {}).setdefault(signature.place, _Record(message, signature.mac))
            return None
        self._signed.pop(attempt, None)
        read = [AnnouncementPart(_payload(one.message, DataWritten), one.message.headers) for one in parts]
        return assemble(self._scope, self._mode_of, read, _payload(message, DataComplete), message)


class _Record(NamedTuple):
    message: ControlMessage
    mac: str


def _payload(message: ControlMessage, kind: type[P]) -> P:
    payload = decode(message.value).payload
    if not isinstance(payload, kind):
        msg = f"its record at offset {message.offset} is a {type(payload).__name__}, not a {kind.__name__}"
        raise TypeError(msg)
    return payload
