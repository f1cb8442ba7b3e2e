"""Reading announcements back: what counts is complete, of this plan, and the first of its slice."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from floe.config.names import table_problem
from floe.control import headers as h
from floe.control.announcement import Announcement, SpecFiles, TableShare
from floe.control.signature import Signature
from floe.control.topic_reader import ControlMessage
from floe.control.wire.codec import decode
from floe.control.wire.events import (
    DataComplete,
    DataWritten,
    TableReference,
)
from floe.exceptions import FloeError
from floe.model.accounting import RangeBooks, TableBooks
from floe.model.dead_letters import LetterOffsets
from floe.model.intervals import Intervals
from floe.model.ledger import LogId
from floe.model.plan import Plan, Slice
from floe.model.plan_seal import PlanKey
from floe.model.ranges import OffsetRange, ranges_from_json

log = logging.getLogger(__name__)

MOST_WARNINGS = 20
"""Of announcements that do not count, for each slice."""

P = TypeVar("P", DataWritten, DataComplete)


class AnnouncementReader:
    """Reads the announcements of one plan, record by record, each once; ``found``: the first complete one of each slice.

    With a ``key``, a record counts only if the plan's own writer signed it: any other is passed by before it is decoded,
    and records of two attempts are never put together. Without, as for plans that have no seal, all records of a slice
    count in their order. What does not count is left out and logged: incomplete or malformed ones, ones for other
    ranges, and later ones of retried or left-over writers, which hold the same rows in other files.
    """

    def __init__(self, plan: Plan, key: PlanKey | None) -> None:
        self._group_id = plan.group_id
        self._slices = {plan.slice_id(piece): _SliceReader(plan, piece, key) for piece in plan.slices}
        self.found: dict[str, Announcement] = {}

    def feed(self, messages: Iterable[ControlMessage]) -> None:
        """Take further records; those of a partition come in the order of their offsets."""
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
        """Say once how many records of each slice were passed by."""
        for slice_id, reader in self._slices.items():
            if reader.unsigned:
                log.warning(
                    "%s record(s) of the control topic name slice %s and were not written by its writer, the first at "
                    "offset %s: they were passed by. Check who may write to the control topic.",
                    reader.unsigned,
                    slice_id,
                    reader.first_unsigned,
                )
                reader.unsigned = 0


def find_announcement(
    plan: Plan, piece: Slice, messages: Iterable[ControlMessage], key: PlanKey | None
) -> Announcement | None:
    """Return the first complete announcement of a slice; None when there is none."""
    reader = AnnouncementReader(plan, key)
    reader.feed(messages)
    reader.log_unsigned()
    return reader.found.get(plan.slice_id(piece))


class _SliceReader:
    """Collects the records of one slice until an attempt is complete."""

    def __init__(self, plan: Plan, piece: Slice, key: PlanKey | None) -> None:
        self._plan = plan
        self._slice = piece
        self._key = key
        self._unsigned_parts: list[_Part] = []
        self._signed: dict[tuple[int, str], dict[int, _Record]] = {}
        self._told = False
        self._warned = 0
        self.unsigned = 0
        self.first_unsigned: int | None = None

    def take(self, message: ControlMessage) -> Announcement | None:
        """Take one record of the slice; return the announcement that it completes."""
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
            # headers are anybody's JSON, and there may be any number of such records
            self._unsigned_parts = []
            self._warned += 1
            slice_id = self._plan.slice_id(self._slice)
            if self._warned <= MOST_WARNINGS:
                log.warning(
                    "an announcement of slice %s at offset %s does not count: %s", slice_id, message.offset, error
                )
            if self._warned == MOST_WARNINGS:
                log.warning("further announcements of slice %s that do not count are not named", slice_id)
            return None

    def pass_over(self, message: ControlMessage) -> None:
        """Take note of a record behind the announcement that counts."""
        if h.RANGES in message.headers and not self._told:
            self._told = True
            slice_id = self._plan.slice_id(self._slice)
            log.warning("slice %s was announced again at %s; the first one counts", slice_id, message.offset)

    def _take_unsigned(self, message: ControlMessage) -> Announcement | None:
        event = decode(message.value)
        if event.group_id != self._plan.group_id:
            return None
        if isinstance(event.payload, DataWritten):
            self._unsigned_parts.append(_Part(event.payload, message.headers))
        elif isinstance(event.payload, DataComplete):
            parts, self._unsigned_parts = self._unsigned_parts, []
            return _assemble(self._plan, self._slice, parts, event.payload, message)
        return None

    def _take_signed(self, key: PlanKey, message: ControlMessage) -> Announcement | None:
        """Verify a record, and keep it as it is until the last one of its attempt verifies all of them."""
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
        read = [_Part(_payload(one.message, DataWritten), one.message.headers) for one in parts]
        return _assemble(self._plan, self._slice, read, _payload(message, DataComplete), message)


class _Record(NamedTuple):
    message: ControlMessage
    mac: str


def _payload(message: ControlMessage, kind: type[P]) -> P:
    payload = decode(message.value).payload
    if not isinstance(payload, kind):
        msg = f"its record at offset {message.offset} is a {type(payload).__name__}, not a {kind.__name__}"
        raise TypeError(msg)
    return payload


@dataclass(frozen=True)
class _Part:
    payload: DataWritten
    headers: Mapping[str, str]


def _assemble(
    plan: Plan, piece: Slice, parts: Sequence[_Part], complete: DataComplete, message: ControlMessage
) -> Announcement:
    if message.headers.get(h.VERSION) != h.FORMAT or complete.commit_id != plan.commit_id:
        msg = f"its format is {message.headers.get(h.VERSION)!r} and its commit id {complete.commit_id}"
        raise ValueError(msg)
    if message.headers.get(h.KIND) != piece.kind:
        msg = f"its kind is {message.headers.get(h.KIND)!r}, that of the plan {piece.kind!r}"
        raise ValueError(msg)
    ranges = ranges_from_json(h.json_header(message.headers, h.RANGES))
    if sorted(map(str, ranges)) != sorted(map(str, piece.ranges)) or set(ranges) != set(piece.ranges):
        msg = f"its ranges {[str(r) for r in ranges]} are not those of the plan {[str(r) for r in piece.ranges]}"
        raise ValueError(msg)
    by_partition = {r.tp: r for r in piece.ranges}
    tables = h.json_header(message.headers, h.TABLES)
    if piece.tables and set(tables) - {plan.letters} != set(piece.tables):
        msg = f"its tables {sorted(tables)} are not those of the plan {sorted(piece.tables)}"
        raise ValueError(msg)
    if problem := next((found for name in tables if (found := table_problem(name))), None):
        raise ValueError(problem)
    with_parts = {_table_name(p.payload.table_reference) for p in parts}  # what is replaced may come to no file
    shares = tuple(
        _share(piece, name, counts, parts, {r.tp: r for r in plan.taken(piece, name)})
        for name, counts in tables.items()
        if counts["files"] or counts.get("rows") or (piece.mode.removes_rows and name in with_parts)
    )
    strangers = with_parts - {s.table for s in shares}
    if strangers:
        msg = f"it has files of tables that it does not list: {sorted(strangers)}"
        raise ValueError(msg)
    books = tuple(
        (by_partition[(topic, int(partition))], RangeBooks.from_json(counts))  # type: ignore[index]
        for topic, partition, counts in h.json_header(message.headers, h.BOOKS)
    )
    return Announcement(
        slice_id=plan.slice_id(piece),
        commit_id=complete.commit_id,
        kind=piece.kind,
        ranges=piece.ranges,
        shares=shares,
        tables={name: _table_books(counts) for name, counts in tables.items()},
        books=books,
        assignments=complete.assignments or (),
        refused={name: str(counts["refused"]) for name, counts in tables.items() if "refused" in counts},
        lost=ranges_from_json(h.json_header(message.headers, h.LOST)) if h.LOST in message.headers else (),
        revived=_letters(message, h.REVIVED, piece),
        resolved=_letters(message, h.RESOLVED, piece),
        reasons=_reasons(message),
        known=_letters(message, h.KNOWN, piece),
        write_ms=int(message.headers[h.WRITE_MS]) if h.WRITE_MS in message.headers else None,
        control_offset=(message.partition, message.offset + 1),
    )


def _reasons(message: ControlMessage) -> dict[str, int]:
    fields = h.json_header(message.headers, h.REASONS) if h.REASONS in message.headers else {}
    return {str(error): int(count) for error, count in fields.items()}


def _letters(message: ControlMessage, header: str, piece: Slice) -> LetterOffsets:
    if header not in message.headers:
        return LetterOffsets()
    letters = LetterOffsets.from_json(h.json_header(message.headers, header))
    if letters != letters.within(piece.ranges):
        msg = f"its letters ({header}) are not all inside the ranges of the slice"
        raise ValueError(msg)
    return letters


def _table_name(reference: TableReference) -> str:
    return ".".join((*reference.namespace, reference.name))


def _share(
    piece: Slice, name: str, counts: Mapping[str, Any], parts: Sequence[_Part], by_partition: Mapping[Any, OffsetRange]
) -> TableShare:
    mine = [p for p in parts if _table_name(p.payload.table_reference) == name]
    if not mine:
        msg = f"it lists table {name!r} but has no part of it"
        raise ValueError(msg)
    expected = [f"{i}/{len(mine)}" for i in range(1, len(mine) + 1)]
    if [p.headers.get(h.PART) for p in mine] != expected:
        msg = f"its parts of table {name!r} are {[p.headers.get(h.PART) for p in mine]}, expected {expected}"
        raise ValueError(msg)
    first = mine[0]
    files = tuple(
        SpecFiles(int(p.headers[h.SPEC_ID]), p.payload.partition_type, tuple(p.payload.data_files or ())) for p in mine
    )
    if sum(len(f.files) for f in files) != int(counts["files"]):
        msg = f"it lists {counts['files']} files of table {name!r} but has {sum(len(f.files) for f in files)}"
        raise ValueError(msg)
    if any(p.payload.delete_files for p in mine):
        msg = f"it has delete files for table {name!r}, which floe never writes"
        raise ValueError(msg)
    books = _table_books(counts)
    if sum(f.record_count for spec in files for f in spec.files) != books.rows:
        msg = f"the files of table {name!r} have other row counts than its books ({books.rows})"
        raise ValueError(msg)
    nets = _nets(h.json_header(first.headers, h.NET), by_partition)
    if not piece.is_by_id and books.held > sum(len(r) - sum(end - start for start, end in net) for r, net in nets):
        msg = f"{books.held} rows of table {name!r} are said to be held, more than the offsets outside its net"
        raise ValueError(msg)
    return TableShare(
        reference=first.payload.table_reference,
        branch=first.headers[h.BRANCH],
        schema_id=int(first.headers[h.SCHEMA_ID]),
        nets=nets,
        routes=_routes(h.json_header(first.headers, h.ROUTE), by_partition),
        files=files,
        books=books,
        seen=_offsets(first.headers, h.SEEN),
    )


def _table_books(counts: Mapping[str, Any]) -> TableBooks:
    return TableBooks.from_json({name: count for name, count in counts.items() if name not in ("files", "refused")})


def _routes(fields: Mapping[str, Any], by_partition: Mapping[Any, OffsetRange]) -> dict[str, str]:
    missing = {r.topic for r in by_partition.values()} - fields.keys()
    if missing:
        msg = f"it has no route hash of the topics {sorted(missing)}"
        raise ValueError(msg)
    return {str(topic): str(route) for topic, route in fields.items()}


def _offsets(headers: Mapping[str, str], name: str) -> dict[LogId, Intervals]:
    spans: dict[LogId, list[tuple[int, int]]] = {}
    for r in ranges_from_json(h.json_header(headers, name)) if name in headers else ():
        spans.setdefault(LogId.of(r), []).append((r.start, r.end))
    return {log_id: Intervals.of(found) for log_id, found in spans.items()}


def _nets(
    fields: Mapping[str, Any], by_partition: Mapping[Any, OffsetRange]
) -> tuple[tuple[OffsetRange, Intervals], ...]:
    spans: dict[OffsetRange, list[tuple[int, int]]] = {r: [] for r in by_partition.values()}
    for net in ranges_from_json(dict(fields)):
        r = by_partition[net.tp]
        if net.topic_id != r.topic_id or net.start < r.start or net.end > r.end:
            msg = f"its net {net} is not inside {r}"
            raise ValueError(msg)
        spans[r].append((net.start, net.end))
    return tuple((r, Intervals.of(s)) for r, s in spans.items())
