"""Which open dead letters a slice resolves, from what became of their records in each table."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from floe.model.dead_letters import MOST_SPANS, LetterOffsets
from floe.model.holding import LogId
from floe.model.intervals import Intervals
from floe_job.contract.letter_outcomes import LetterFates, Offsets
from floe_job.exceptions import SliceRefused


class ResolvedDeadLetters(NamedTuple):
    """``revived``: records with open letters that are rows of this slice, by table. ``resolved``: letters to be marked."""

    revived: LetterOffsets = LetterOffsets()
    resolved: LetterOffsets = LetterOffsets()


def resolve_dead_letters(
    letters: LetterOffsets,
    fates: Mapping[str, Sequence[LetterFates]],
    revived_before: Mapping[str, Offsets],
    *,
    is_whole: bool,
) -> ResolvedDeadLetters:
    """Return which of the open ``letters`` are resolved by what became of records in each table.

    A letter of a table is, once its record is a row there. A letter of none is, once each table that the record reaches
    has its row or a letter of its own: only a slice for all tables tells. ``revived_before``: by table, letters that its
    ledger knows to be rows. Raises SliceRefused when they are more than an announcement can name.
    """
    joined = {name: _joined(several) for name, several in fates.items()}
    revived = LetterOffsets.of(
        (name, log_id, offsets) for name, one in joined.items() for log_id, offsets in _of(one.rows)
    )
    here, anew, undone = [], [], []
    for name, one in joined.items():
        before = revived_before.get(name, {})
        there = {log_id: offsets & before.get(log_id, Intervals()) for log_id, offsets in one.passed.items()}
        rows = [*_of(one.rows), *_of(there)]
        here += [(name, log_id, offsets & letters.at(name, log_id)) for log_id, offsets in rows]
        anew += [(None, log_id, offsets & letters.at(None, log_id)) for log_id, offsets in [*rows, *_of(one.dead)]]
        undone += [(None, log_id, offsets - there[log_id]) for log_id, offsets in one.passed.items()]
    of_none = LetterOffsets.of(anew) - LetterOffsets.of(undone) if is_whole else LetterOffsets()
    resolved = ResolvedDeadLetters(revived, LetterOffsets.of(here) | of_none)
    if max(resolved.revived.spans, resolved.resolved.spans) > MOST_SPANS:
        msg = (
            f"{resolved.resolved.count} records with open dead letters become rows, in {resolved.resolved.spans} spans of "
            f"offsets: an announcement names at most {MOST_SPANS}. Nothing was announced; run again with a smaller "
            "max_records"
        )
        raise SliceRefused(msg)
    return resolved


def _joined(several: Sequence[LetterFates]) -> LetterFates:
    return LetterFates(
        _union(one.rows for one in several), _union(one.dead for one in several), _union(one.passed for one in several)
    )


def _union(parts: Iterable[Offsets]) -> dict[LogId, Intervals]:
    joined: dict[LogId, list[tuple[int, int]]] = {}
    for part in parts:
        for log_id, offsets in part.items():
            joined.setdefault(log_id, []).extend(offsets)
    return {log_id: Intervals.of(spans) for log_id, spans in joined.items()}


def _of(offsets: Offsets) -> Iterable[tuple[LogId, Intervals]]:
    return offsets.items()
