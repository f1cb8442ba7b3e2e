"""What the page, the REST API and the metrics show of one connector: its status, and what a person looks up beside it.

One record per connector is kept, as JSON; whoever reads one asks neither Kafka nor the catalog. Its size is bounded by what
collects it. Texts in it are without secrets and of bounded length, as in :mod:`floe.status.connector_status`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from floe.model.offsets import Intervals
from floe.status.connector_status import ConnectorStatus
from floe.status.freshness import Freshness

FORMAT = 1


@dataclass(frozen=True, slots=True)
class HeldOffsets:
    """The offsets of one partition that a table's ledger contains: the newest ones, in ``spans``.

    ``more``: how many older spans are not in it. ``committed``: the group's offset, which was asked for before the ledger:
    what is below it was committed to the table, if it had rows there. None where that is not known.
    """

    table: str
    topic: str
    partition: int
    spans: Intervals
    more: int = 0
    committed: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "topic": self.topic,
            "partition": self.partition,
            "spans": [list(span) for span in self.spans],
            "more": self.more,
            **({} if self.committed is None else {"committed": self.committed}),
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> HeldOffsets:
        return cls(**{**fields, "spans": Intervals.of(fields["spans"])})


@dataclass(frozen=True, slots=True)
class EventFile:
    """A data file that an event announces. ``size``: bytes."""

    table: str
    path: str
    rows: int
    size: int

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> EventFile:
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class ControlEvent:
    """One event of the control topic. ``kind``: its type as Iceberg names it, e.g. ``DATA_WRITTEN``.

    ``slice_id``: floe's, None for an event of Kafka Connect's sink. ``more_files``: how many files are not in ``files``.
    """

    partition: int
    offset: int
    at: datetime
    kind: str
    commit_id: str | None = None
    slice_id: str | None = None
    files: tuple[EventFile, ...] = ()
    more_files: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "partition": self.partition,
            "offset": self.offset,
            "at": self.at.isoformat(),
            "kind": self.kind,
            "commit_id": self.commit_id,
            "slice_id": self.slice_id,
            "files": [file.to_json() for file in self.files],
            "more_files": self.more_files,
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> ControlEvent:
        changed = {
            "at": datetime.fromisoformat(fields["at"]),
            "files": tuple(EventFile.from_json(file) for file in fields["files"]),
        }
        return cls(**{**fields, **changed})


@dataclass(frozen=True, slots=True)
class DeadLetterSample:
    """A record that became a dead letter. ``value``: its first bytes, as hexadecimal digits; None for a tombstone."""

    topic: str
    partition: int
    offset: int
    message: str
    value: str | None
    size: int

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> DeadLetterSample:
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class DeadLetterReason:
    """Open dead letters of one table with one reason, and the newest of them."""

    table: str
    stage: str
    reason: str
    count: int
    samples: tuple[DeadLetterSample, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "stage": self.stage,
            "reason": self.reason,
            "count": self.count,
            "samples": [sample.to_json() for sample in self.samples],
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> DeadLetterReason:
        return cls(**{**fields, "samples": tuple(DeadLetterSample.from_json(sample) for sample in fields["samples"])})


@dataclass(frozen=True, slots=True)
class Point:
    """The connector at an earlier moment. ``lag``: records, None where not known. ``rows``: added since the last point."""

    at: datetime
    lag: int | None
    rows: int

    def to_json(self) -> dict[str, Any]:
        return {"at": self.at.isoformat(), "lag": self.lag, "rows": self.rows}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Point:
        return cls(**{**fields, "at": datetime.fromisoformat(fields["at"])})


@dataclass(frozen=True, slots=True)
class StatusRecord:
    """What is kept of a connector.

    ``seconds_until_lost``: until retention removes the first unread record of any partition; None where nothing is unread
    or the topic keeps its records. ``lag_seconds``: the age of the oldest unread record; None likewise, or not known.
    ``dead_letters``: None where they were not looked up; ``dead_letters_at``: when they last were. ``rows``: added since
    records of this connector are kept. ``freshness``: None where the connector asks for none.
    """

    status: ConnectorStatus
    held: tuple[HeldOffsets, ...] = ()
    events: tuple[ControlEvent, ...] = ()
    dead_letters: tuple[DeadLetterReason, ...] | None = None
    history: tuple[Point, ...] = ()
    lag_seconds: float | None = None
    seconds_until_lost: float | None = None
    dead_letters_at: datetime | None = None
    rows: int = 0
    freshness: Freshness | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "record": FORMAT,
            "status": self.status.to_json(),
            "held": [one.to_json() for one in self.held],
            "events": [one.to_json() for one in self.events],
            "dead_letters": None if self.dead_letters is None else [one.to_json() for one in self.dead_letters],
            "history": [one.to_json() for one in self.history],
            "lag_seconds": self.lag_seconds,
            "seconds_until_lost": self.seconds_until_lost,
            "dead_letters_at": None if self.dead_letters_at is None else self.dead_letters_at.isoformat(),
            "rows": self.rows,
            "freshness": None if self.freshness is None else self.freshness.to_json(),
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> StatusRecord:
        """Read what :meth:`to_json` wrote. Raises ValueError for another format."""
        if fields.get("record") != FORMAT:
            msg = f"this status record has format {fields.get('record')!r}, floe reads {FORMAT}: run floe.status again"
            raise ValueError(msg)
        dead_letters, looked_up = fields["dead_letters"], fields["dead_letters_at"]
        freshness = fields.get("freshness")  # records of before have none
        return cls(
            status=ConnectorStatus.from_json(fields["status"]),
            held=tuple(HeldOffsets.from_json(one) for one in fields["held"]),
            events=tuple(ControlEvent.from_json(one) for one in fields["events"]),
            dead_letters=None
            if dead_letters is None
            else tuple(DeadLetterReason.from_json(one) for one in dead_letters),
            history=tuple(Point.from_json(one) for one in fields["history"]),
            lag_seconds=fields["lag_seconds"],
            seconds_until_lost=fields["seconds_until_lost"],
            dead_letters_at=None if looked_up is None else datetime.fromisoformat(looked_up),
            rows=fields["rows"],
            freshness=None if freshness is None else Freshness.from_json(freshness),
        )
