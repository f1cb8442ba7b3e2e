"""One announcement, checked and built from the records that it came in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from floe.config.names import table_problem
from floe.control import headers as h
from floe.control.announcement import Announcement, SpecFiles, TableShare
from floe.control.topic_reader import ControlMessage
from floe.control.wire.events import (
    DataComplete,
    DataWritten,
    TableReference,
)
from floe.model.accounting import RangeBooks, TableBooks
from floe.model.dead_letters import LetterOffsets
from floe.model.holding import LogId
from floe.model.intervals import Intervals
from floe.model.plan import Plan, Slice
from floe.model.ranges import OffsetRange, ranges_from_json


@dataclass(frozen=True)
class Part:
    payload: DataWritten
    headers: Mapping[str, str]


def assemble(
    plan: Plan, piece: Slice, parts: Sequence[Part], complete: DataComplete, message: ControlMessage
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
    piece: Slice, name: str, counts: Mapping[str, Any], parts: Sequence[Part], by_partition: Mapping[Any, OffsetRange]
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
