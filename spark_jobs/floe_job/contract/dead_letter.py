"""A dead letter: one record that could not become a row, whole, with why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from floe.model.holding import LogId
from floe.model.offsets import Intervals, OffsetRange
from floe_job.exceptions import REASON_LENGTH, clip
from floe_job.source.record_batch import UNREADABLE, Records


@dataclass(frozen=True)
class DeadLetter:
    """A record as it was read, in full, and the reason for which it was refused.

    ``topic_id``: the topic's incarnation; offsets start again in a re-created topic. ``timestamp``: epoch ms. ``table``: the
    table it was meant for, None before routing. ``stage``: the step that refused it, as in ``Rejected``. ``error``: the
    error's class name. ``repr`` does not contain the record itself.
    """

    topic: str
    topic_id: str
    partition: int
    offset: int
    timestamp: int | None
    key: bytes | None = field(repr=False)
    value: bytes | None = field(repr=False)
    headers: tuple[tuple[str, bytes | None], ...] = field(repr=False)
    table: str | None
    stage: str
    error: str
    reason: str

    @property
    def place(self) -> str:
        """Topic, partition and offset, for messages."""
        return f"topic {self.topic!r} partition {self.partition} offset {self.offset}"

    @property
    def size(self) -> int:
        """The approximate size of the record in memory, in bytes."""
        in_headers = sum([len(name) + len(value or b"") for name, value in self.headers])
        return len(self.value or b"") + len(self.key or b"") + in_headers + 200

    @property
    def short_reason(self) -> str:
        """The reason, limited in length. It can be encoded as UTF-8 whatever the record contains."""
        reason = clip(self.reason, REASON_LENGTH)
        return reason if reason.isascii() else reason.encode("utf-8", "replace").decode()


def dead_letters_of(records: Records, refused: Iterable[Rejected], table: str | None) -> list[DeadLetter]:
    """Make dead letters of all records at once. The metadata of all records is read together."""
    refused = list(refused)
    if not refused:
        return []
    tp, topic_id = records.part.range.tp, records.part.range.topic_id
    indices = [one.index for one in refused]
    messages, values = records.messages.select(indices), records.values.select(indices)
    beside = zip(messages.timestamps(), messages.keys(), values, messages.headers(), strict=True)
    return [
        DeadLetter(
            topic=tp.topic,
            topic_id=topic_id,
            partition=tp.partition,
            offset=records.offsets[one.index],
            timestamp=timestamp,
            key=key,
            value=value,
            headers=tuple(headers or ()),
            table=table,
            stage=one.stage,
            error=one.error,
            reason=one.reason if headers is not None else f"{one.reason} (and {UNREADABLE})",
        )
        for one, (timestamp, key, value, headers) in zip(refused, beside, strict=True)
    ]


# A record that some step refused.


@dataclass(frozen=True)
class Rejected:
    """A record that is not a row: its index in the batch, the step that refused it, why (bounded text), the error's name."""

    index: int
    stage: str
    reason: str
    error: str

    def at(self, index: int) -> Rejected:
        """Return the same of another index."""
        return replace(self, index=index)


# What became of records with open dead letters in one table. The driver uses it to find the resolved dead letters.


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
