"""The end of a replay: what it left out, how to repeat the rest, and which dead letters it made rows of."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from floe.commit.slice_commit import SliceOutcome
from floe.control.announcement import Announcement
from floe.model.offsets import Intervals
from floe.model.plan import Plan, Slice, SliceKind
from floe.tables.exceptions import DeadLettersLeft, ReplayIncomplete

# The end of a replay that left tables out: what is in the others, and how to repeat the rest.


MAX_NAMED = 5
"""Tables that left rows, and triggers, that an error names in full."""

_KEPT = ("branch", "config", "max_records")
"""Params of a replay that are repeated as they were given."""

SliceEnds = Sequence[tuple[Slice, SliceOutcome]]


@dataclass(frozen=True)
class LeftOut:
    """A table that refused, with the reason, and the slices that it did not get."""

    table: str
    reason: str
    slices: tuple[Slice, ...]


def incomplete_replay(plan: Plan, ends: SliceEnds, params: Mapping[str, Any]) -> ReplayIncomplete | None:
    """Return the error of a replay that left tables out, None if it left none. ``params``: those of the run."""
    left = _left_out(ends)
    if not left:
        return None
    named = "; ".join(
        f"table {one.table!r} got nothing of {_ranges(one.slices)}, because {one.reason.rstrip('.')}"
        for one in left[:MAX_NAMED]
    )
    more = f"; and {len(left) - MAX_NAMED} more tables" if len(left) > MAX_NAMED else ""
    triggers = [trigger for group in _grouped(left, params) for trigger in _triggers(*group, params)]
    shown = ", then ".join(json.dumps(trigger) for trigger in triggers[:MAX_NAMED])
    rest = f", and {len(triggers) - MAX_NAMED} more" if len(triggers) > MAX_NAMED else ""
    appends = any(slice_.kind is SliceKind.APPEND for one in left for slice_ in one.slices)
    once = " Do not clear this run as well: its files could be appended, too." if appends else ""
    return ReplayIncomplete(
        f"{named}{more}. {_committed(plan, ends)} Fix the table, then trigger this DAG with {shown}{rest}.{once}"
    )


def _left_out(ends: SliceEnds) -> list[LeftOut]:
    reasons: dict[str, str] = {}
    slices: dict[str, list[Slice]] = {}
    for slice_, outcome in ends:
        for table, reason in outcome.behind.items():
            reasons.setdefault(table, reason)
            slices.setdefault(table, []).append(slice_)
    return [LeftOut(table, reason, tuple(slices[table])) for table, reason in sorted(reasons.items())]


def _committed(plan: Plan, ends: SliceEnds) -> str:
    """Describe what the replay committed."""
    rows: dict[str, int] = {}
    for _, outcome in ends:
        for one in outcome.committed:
            name = one.table_files.table
            if name != plan.dead_letters:
                rows[name] = rows.get(name, 0) + one.counts.rows
    if not rows:
        return "The other tables had nothing to be written; no row was committed."
    listed = ", ".join(f"{name!r} ({count:,} rows)" for name, count in sorted(rows.items())[:MAX_NAMED])
    others = f" and {len(rows) - MAX_NAMED} more" if len(rows) > MAX_NAMED else ""
    return f"The replay was committed to {listed}{others}."


def _grouped(left: Iterable[LeftOut], params: Mapping[str, Any]) -> list[tuple[list[str], tuple[Slice, ...]]]:
    """Put tables together that lack the same slices; a redrive is repeated for all of them."""
    groups: dict[tuple[Slice, ...], list[str]] = {}
    for one in left:
        groups.setdefault(one.slices, []).append(one.table)
    slices = tuple(dict.fromkeys(slice_ for one in groups for slice_ in one))
    if any(slice_.kind is SliceKind.REDRIVE for slice_ in slices):
        # dead letters that have no table yet are read only where none is named
        return [(list(params.get("tables") or ()), slices)]
    return [(tables, slices) for slices, tables in groups.items()]


def _triggers(tables: list[str], slices: tuple[Slice, ...], params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the params of the replays that read exactly these slices: of each partition, one span a replay."""
    spans = _spans(slices)
    first = slices[0]
    is_redrive = first.kind is SliceKind.REDRIVE
    how: dict[str, Any] = {"dead_letters": True} if is_redrive else {"overlap": first.kind.value}
    kept = {name: params[name] for name in _KEPT if params.get(name)}
    for_tables = {"tables": tables} if tables else {}
    return [
        {
            "topic": first.ranges[0].topic,
            "ranges": {str(p): list(found.spans[i]) for p, found in sorted(spans.items()) if i < len(found.spans)},
            **for_tables,
            **how,
            **kept,
        }
        for i in range(max(len(found.spans) for found in spans.values()))
    ]


def _spans(slices: Iterable[Slice]) -> dict[int, Intervals]:
    """Return the offsets of slices by partition; a replay has one topic."""
    found: dict[int, list[tuple[int, int]]] = {}
    for slice_ in slices:
        for r in slice_.ranges:
            found.setdefault(r.partition, []).append((r.start, r.end))
    return {partition: Intervals.of(spans) for partition, spans in found.items()}


def _ranges(slices: Sequence[Slice]) -> str:
    topic = slices[0].ranges[0].topic
    spans = [f"{topic}-{p}[{start}, {end})" for p, found in sorted(_spans(slices).items()) for start, end in found]
    more = f" and {len(spans) - MAX_NAMED} more" if len(spans) > MAX_NAMED else ""
    return ", ".join(spans[:MAX_NAMED]) + more


# The outcome of a redrive: how many dead letters became rows, and how many failed again, and of what.


log = logging.getLogger(__name__)


def report_redrive(plan: Plan, announcements: Iterable[Announcement]) -> None:
    """Log what became of the dead letters of a redrive. Raises DeadLettersLeft when every one of them failed again."""
    if not any(slice_.kind is SliceKind.REDRIVE for slice_ in plan.slices):
        return
    reasons: Counter[str] = Counter()
    rows = resolved = 0
    for announcement in announcements:
        reasons.update(announcement.reasons)
        resolved += announcement.resolved.count
        rows += sum(one.counts.rows for name, one in announcement.tables.items() if name != plan.dead_letters)
    failed = sum(reasons.values())
    why = ", ".join(
        f"{count} {error}" for error, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    )
    if failed and not rows and not resolved:
        msg = (
            f"all {failed} dead letters that were read again failed again ({why}): none became a row, and all stay open. "
            "With errors.log.enable, the log of the write task lists them. Fix the table, the connector or the transforms, "
            "then trigger the replay again"
        )
        raise DeadLettersLeft(msg)
    log.info("dead letters: %s became rows, %s failed again%s", rows, failed, f" ({why})" if why else "")
