"""The operator's decisions, for one run, about conditions that a plan would refuse."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from floe.model.offsets import TopicPartition

ALL = "*"
"""Means all topics."""


class Rollback(StrEnum):
    """What to do with the rows that a table's owner rolled back."""

    REPLAY = "replay"
    """They are read again: their offsets are removed from the ledger and become a backlog of the table."""
    ACCEPT = "accept"
    """They are not read again: the ledger continues from the current head."""


class DroppedTable(StrEnum):
    """What to do with a table that the connector filled and that was dropped."""

    REFILL = "refill"
    """Its rows are read again from the log start, as a backlog."""
    CONTINUE = "continue"
    """It gets new rows only."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """The recovery option for each refusal; an option applies only if it is named.

    ``recover``: restore lost or foreign positions from the tables' ledgers. ``accept_loss``: topics, partitions
    (``topic-0``) or ``*`` whose lost offsets are skipped. ``reset_topics`` (stored as ``adopt``): topics (or ``*``) whose new
    incarnation, cluster or shortened log is read as a new generation. ``drop_backlog`` (stored as ``forgive``): tables whose
    backlog is dropped. ``rolled_back``: per table, what to do with a rollback. ``dropped_tables``: per dropped table, what
    to do with it. ``start_at`` and ``skip_to``: by partition, topic or ``*``, where a topic that was not read yet begins, and
    up to where records are not read, as ``floe.planning.wanted_offsets`` understands them.
    """

    recover: bool = False
    accept_loss: frozenset[str] = frozenset()
    reset_topics: frozenset[str] = frozenset()
    drop_backlog: frozenset[str] = frozenset()
    rolled_back: Mapping[str, Rollback] = field(default_factory=lambda: MappingProxyType({}))
    dropped_tables: Mapping[str, DroppedTable] = field(default_factory=lambda: MappingProxyType({}))
    start_at: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    skip_to: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> "Decisions":
        """Read them from a run's params, or from the output of :meth:`to_json`, which keeps the old names."""
        loss = params.get("accept_loss")
        return cls(
            recover=bool(params.get("recover")),
            accept_loss=frozenset({ALL} if loss is True else loss or ()),
            reset_topics=frozenset(params.get("reset_topics") or params.get("adopt") or ()),
            drop_backlog=frozenset(params.get("drop_backlog") or params.get("forgive") or ()),
            rolled_back={str(t): Rollback(how) for t, how in (params.get("rolled_back") or {}).items()},
            dropped_tables={str(t): DroppedTable(how) for t, how in (params.get("dropped_tables") or {}).items()},
            start_at=dict(params.get("start_at") or {}),
            skip_to=dict(params.get("skip_to") or {}),
        )

    def to_json(self) -> dict[str, Any]:
        """Return only the decisions that were made, under the names of the stored format."""
        fields = {
            "recover": self.recover,
            "accept_loss": ALL in self.accept_loss or sorted(self.accept_loss),
            "adopt": sorted(self.reset_topics),
            "forgive": sorted(self.drop_backlog),
            "rolled_back": {table: how.value for table, how in self.rolled_back.items()},
            "dropped_tables": {table: how.value for table, how in self.dropped_tables.items()},
            "start_at": dict(self.start_at),
            "skip_to": dict(self.skip_to),
        }
        return {name: value for name, value in fields.items() if value}

    def resets(self, topic: str) -> bool:
        """Say whether a new generation of a topic is wanted."""
        return topic in self.reset_topics or ALL in self.reset_topics

    def accepts_loss(self, tp: TopicPartition, topics: Collection[str]) -> bool:
        """Say whether lost offsets of a partition may be skipped. A name in ``topics`` means the topic."""
        names = self.accept_loss
        return ALL in names or tp.topic in names or (str(tp) in names and str(tp) not in topics)
