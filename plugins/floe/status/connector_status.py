"""What is known of a connector at one moment: plain values, as JSON too.

Texts in them come from brokers, catalogs and tables. Whoever puts one in has hidden secrets in it and bounded its length
(``clip``); names of topics and tables are as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from floe.model.offsets import Intervals, TopicPartition

FORMAT = 1


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """One partition; all but its name are offsets.

    ``committed``: the group's, None before the first run. ``end``: the last stable offset. ``lag``: records at most that
    are there to be read. ``lost``: offsets that were gone before they were read. ``problem``: why the next plan would
    refuse the partition.
    """

    topic: str
    partition: int
    committed: int | None
    log_start: int
    end: int
    lag: int
    lost: Intervals = field(default_factory=Intervals)
    problem: str | None = None

    @property
    def tp(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    def to_json(self) -> dict[str, Any]:
        more: dict[str, Any] = {"lost": [list(span) for span in self.lost]} if self.lost else {}
        return {
            "topic": self.topic,
            "partition": self.partition,
            "committed": self.committed,
            "log_start": self.log_start,
            "end": self.end,
            "lag": self.lag,
            **more,
            **({"problem": self.problem} if self.problem else {}),
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> PartitionStatus:
        return cls(**{**fields, "lost": Intervals.of(fields.get("lost", ()))})


@dataclass(frozen=True, slots=True)
class Backlog:
    """Offsets ``[start, end)`` of a partition that a table does not have, while others do."""

    table: str
    topic: str
    partition: int
    start: int
    end: int

    @property
    def tp(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    def __len__(self) -> int:
        return self.end - self.start

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Backlog:
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class CommitStatus:
    """One snapshot that the connector made.

    ``rows`` and ``files``: added. ``counts``: what became of the table's records (``assigned``, ``rows``, ``dead``, ``held``,
    ``owed``), empty where the summary has no room for them. ``valid_through``: up to when all partitions were read.
    """

    snapshot_id: int
    at: datetime
    kind: str
    slice_id: str
    rows: int
    files: int
    counts: Mapping[str, int] = field(default_factory=dict)
    valid_through: datetime | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "snapshot_id": str(self.snapshot_id),  # more than JavaScript's numbers can represent
            "at": self.at.isoformat(),
            "kind": self.kind,
            "slice_id": self.slice_id,
            "rows": self.rows,
            "files": self.files,
            "counts": dict(self.counts),
            "valid_through": _written(self.valid_through),
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> CommitStatus:
        changed = {
            "snapshot_id": int(fields["snapshot_id"]),
            "at": datetime.fromisoformat(fields["at"]),
            "valid_through": _moment(fields["valid_through"]),
        }
        return cls(**{**fields, **changed})


@dataclass(frozen=True, slots=True)
class TableStatus:
    """One table, on the branch that the connector writes.

    ``snapshot_id``: the branch's head, whoever made it; None without one. ``commits``: the connector's own, the newest first.
    ``open_dead_letters``: of records meant for it, in the shared dead-letter table; None where they were not looked up.
    ``problem``: why it cannot be read, or would take no rows. ``rows``: of all that is in it, whoever wrote it; None where
    the snapshot does not say. ``is_dead_letters``: whether it is the dead-letter table, which gets what others refuse.
    """

    name: str
    branch: str
    exists: bool
    snapshot_id: int | None = None
    commits: tuple[CommitStatus, ...] = ()
    open_dead_letters: int | None = None
    problem: str | None = None
    rows: int | None = None
    is_dead_letters: bool = False

    @property
    def committed_at(self) -> datetime | None:
        """When the connector last committed to it."""
        return self.commits[0].at if self.commits else None

    @property
    def valid_through(self) -> datetime | None:
        """Up to when it has all partitions' records, by its newest commit that has such a time."""
        return next((commit.valid_through for commit in self.commits if commit.valid_through), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "branch": self.branch,
            "exists": self.exists,
            "snapshot_id": None if self.snapshot_id is None else str(self.snapshot_id),
            "commits": [commit.to_json() for commit in self.commits],
            "open_dead_letters": self.open_dead_letters,
            "problem": self.problem,
            **({} if self.rows is None else {"rows": self.rows}),
            **({"is_dead_letters": True} if self.is_dead_letters else {}),
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> TableStatus:
        snapshot_id = fields["snapshot_id"]
        changed = {
            "snapshot_id": None if snapshot_id is None else int(snapshot_id),
            "commits": tuple(CommitStatus.from_json(commit) for commit in fields["commits"]),
        }
        return cls(**{**fields, **changed})


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """One connector at one moment.

    ``partitions`` and ``tables`` are None where they were not read, or Kafka or the catalog did not answer; then ``problems``
    say why. ``backlog``: also of tables and topics that the connector has no longer.
    """

    name: str
    group_id: str
    at: datetime
    partitions: tuple[PartitionStatus, ...] | None = None
    backlog: tuple[Backlog, ...] = ()
    tables: tuple[TableStatus, ...] | None = None
    problems: tuple[str, ...] = ()

    @property
    def lag(self) -> int | None:
        """Records at most that are there to be read, over all partitions."""
        return None if self.partitions is None else sum(one.lag for one in self.partitions)

    def to_json(self) -> dict[str, Any]:
        return {
            "floe": FORMAT,
            "name": self.name,
            "group_id": self.group_id,
            "at": self.at.isoformat(),
            "partitions": None if self.partitions is None else [one.to_json() for one in self.partitions],
            "backlog": [one.to_json() for one in self.backlog],
            "tables": None if self.tables is None else [one.to_json() for one in self.tables],
            "problems": list(self.problems),
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> ConnectorStatus:
        """Read what :meth:`to_json` wrote. Raises ValueError for another format."""
        if fields.get("floe") != FORMAT:
            msg = f"this status has format {fields.get('floe')!r}, floe reads {FORMAT}: collect it again"
            raise ValueError(msg)
        partitions, tables = fields["partitions"], fields["tables"]
        return cls(
            name=fields["name"],
            group_id=fields["group_id"],
            at=datetime.fromisoformat(fields["at"]),
            partitions=None if partitions is None else tuple(PartitionStatus.from_json(one) for one in partitions),
            backlog=tuple(Backlog.from_json(one) for one in fields["backlog"]),
            tables=None if tables is None else tuple(TableStatus.from_json(one) for one in tables),
            problems=tuple(fields["problems"]),
        )


def _written(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
