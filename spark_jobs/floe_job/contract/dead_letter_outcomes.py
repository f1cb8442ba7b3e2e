"""What became of records with open dead letters in one table. The driver uses it to find the resolved dead letters."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from floe.model.holding import LogId
from floe.model.intervals import Intervals
from floe.model.ranges import OffsetRange

Offsets = Mapping[LogId, Intervals]


@dataclass(frozen=True)
class DeadLetterOutcomes:
    """Offsets of records with open dead letters. ``rows``: written. ``dead``: refused again. ``passed``: skipped, because the
    table already contains them or is behind on them.
    """

    rows: Offsets = field(default_factory=dict)
    dead: Offsets = field(default_factory=dict)
    passed: Offsets = field(default_factory=dict)


class OutcomeRecorder:
    """Records the outcomes of the records that have open dead letters of a table."""

    def __init__(self, dead_letters: Mapping[OffsetRange, Intervals]) -> None:
        self._dead_letters = dead_letters
        self._rows: dict[LogId, list[int]] = {}
        self._dead: dict[LogId, list[int]] = {}
        self._passed: dict[LogId, list[int]] = {}

    def written(self, r: OffsetRange, offsets: Iterable[int]) -> None:
        self._note(self._rows, r, offsets)

    def refused(self, r: OffsetRange, offsets: Iterable[int]) -> None:
        self._note(self._dead, r, offsets)

    def passed(self, r: OffsetRange, offsets: Iterable[int]) -> None:
        self._note(self._passed, r, offsets)

    def outcomes(self) -> DeadLetterOutcomes:
        return DeadLetterOutcomes(_joined(self._rows), _joined(self._dead), _joined(self._passed))

    def _note(self, noted: dict[LogId, list[int]], r: OffsetRange, offsets: Iterable[int]) -> None:
        dead_letters = self._dead_letters.get(r)
        if dead_letters:
            found = [offset for offset in offsets if dead_letters.has(offset)]
            if found:
                noted.setdefault(LogId.of(r), []).extend(found)


def _joined(noted: Mapping[LogId, Iterable[int]]) -> dict[LogId, Intervals]:
    return {log_id: Intervals.of((offset, offset + 1) for offset in offsets) for log_id, offsets in noted.items()}
