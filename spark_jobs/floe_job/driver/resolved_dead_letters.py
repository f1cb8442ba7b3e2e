"""Which open dead letters a slice resolves, from what became of their records in each table."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from floe.model.dead_letters import MAX_SPANS, DeadLetterOffsets
from floe.model.holding import LogId
from floe.model.intervals import Intervals
from floe_job.contract.dead_letter_outcomes import DeadLetterOutcomes, Offsets
from floe_job.exceptions import SliceRefused


class ResolvedDeadLetters(NamedTuple):
    """``recovered``: open dead letters whose records are rows of this slice, by table. ``resolved``: those to be marked."""

    recovered: DeadLetterOffsets = DeadLetterOffsets()
    resolved: DeadLetterOffsets = DeadLetterOffsets()


def resolve_dead_letters(
    dead_letters: DeadLetterOffsets,
    outcomes: Mapping[str, Sequence[DeadLetterOutcomes]],
    recovered_before: Mapping[str, Offsets],
    *,
    is_whole: bool,
) -> ResolvedDeadLetters:
    """Return which of the open ``dead_letters`` are resolved by what became of records in each table.

    A dead letter of a table is resolved once its record is a row there. A dead letter of no table is resolved once each
    table that the record reaches has its row or a dead letter of its own; only a slice for all tables can determine that.
    ``recovered_before``: by table, dead letters whose records are rows according to its ledger. Raises SliceRefused when
    they are more than an announcement can name.
    """
    joined = {name: _joined(several) for name, several in outcomes.items()}
    recovered = DeadLetterOffsets.of(
        (name, log_id, offsets) for name, one in joined.items() for log_id, offsets in _of(one.rows)
    )
    of_tables, rerouted, unresolved = [], [], []
    for name, one in joined.items():
        before = recovered_before.get(name, {})
        known_rows = {log_id: offsets & before.get(log_id, Intervals()) for log_id, offsets in one.passed.items()}
        rows = [*_of(one.rows), *_of(known_rows)]
        of_tables += [(name, log_id, offsets & dead_letters.at(name, log_id)) for log_id, offsets in rows]
        rerouted += [
            (None, log_id, offsets & dead_letters.at(None, log_id)) for log_id, offsets in [*rows, *_of(one.dead)]
        ]
        unresolved += [(None, log_id, offsets - known_rows[log_id]) for log_id, offsets in one.passed.items()]
    of_none = DeadLetterOffsets.of(rerouted) - DeadLetterOffsets.of(unresolved) if is_whole else DeadLetterOffsets()
    resolved = ResolvedDeadLetters(recovered, DeadLetterOffsets.of(of_tables) | of_none)
    if max(resolved.recovered.spans, resolved.resolved.spans) > MAX_SPANS:
        msg = (
            f"{resolved.resolved.count} records with open dead letters become rows, in {resolved.resolved.spans} spans of "
            f"offsets: an announcement names at most {MAX_SPANS}. Nothing was announced; run again with a smaller "
            "max_records"
        )
        raise SliceRefused(msg)
    return resolved


def _joined(several: Sequence[DeadLetterOutcomes]) -> DeadLetterOutcomes:
    return DeadLetterOutcomes(
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
