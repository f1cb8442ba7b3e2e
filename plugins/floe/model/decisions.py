"""What an operator decided about what a plan would refuse, for one run."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from floe.model.ranges import TopicPartition

ALL = "*"
"""Stands for all topics."""


class Rollback(StrEnum):
    """What becomes of the rows that a table's owner rolled back."""

    REPLAY = "replay"
    """They are read again: their offsets leave the ledger and the table owes them."""
    ACCEPT = "accept"
    """They stay away: the ledger goes on from the present head."""


class DroppedTable(StrEnum):
    """What becomes of a table that the connector filled and that was dropped."""

    REFILL = "refill"
    """Its rows are read again, from the log start on, as a backlog."""
    CONTINUE = "continue"
    """It takes new rows only."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """The way out of each refusal; none of them is taken unless it is named.

    ``recover``: restore lost or foreign positions from the tables' ledgers. ``accept_loss``: topics, partitions
    (``topic-0``) or ``*`` whose lost offsets are skipped. ``adopt`` (param ``reset_topics``): topics (or ``*``) whose new
    incarnation, cluster or shortened log is read as a new generation. ``forgive`` (param ``drop_backlog``): tables whose
    backlog is dropped. ``rolled_back``: per table, what becomes of a rollback. ``dropped_tables``: per table, what becomes
    of one that was dropped.
    """

    recover: bool = False
    accept_loss: frozenset[str] = frozenset()
    adopt: frozenset[str] = frozenset()
    forgive: frozenset[str] = frozenset()
    rolled_back: Mapping[str, Rollback] = field(default_factory=lambda: MappingProxyType({}))
    dropped_tables: Mapping[str, DroppedTable] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> "Decisions":
        """Take them from a run's params, or from what :meth:`to_json` wrote, which keeps the names of before."""
        loss = params.get("accept_loss")
        return cls(
            recover=bool(params.get("recover")),
            accept_loss=frozenset({ALL} if loss is True else loss or ()),
            adopt=frozenset(params.get("reset_topics") or params.get("adopt") or ()),
            forgive=frozenset(params.get("drop_backlog") or params.get("forgive") or ()),
            rolled_back={str(t): Rollback(how) for t, how in (params.get("rolled_back") or {}).items()},
            dropped_tables={str(t): DroppedTable(how) for t, how in (params.get("dropped_tables") or {}).items()},
        )

    def to_json(self) -> dict[str, Any]:
        """Return what was decided, under the names of the stored format; nothing of what was not."""
        fields = {
            "recover": self.recover,
            "accept_loss": ALL in self.accept_loss or sorted(self.accept_loss),
            "adopt": sorted(self.adopt),
            "forgive": sorted(self.forgive),
            "rolled_back": {table: how.value for table, how in self.rolled_back.items()},
            "dropped_tables": {table: how.value for table, how in self.dropped_tables.items()},
        }
        return {name: value for name, value in fields.items() if value}

    def adopts(self, topic: str) -> bool:
        """Say whether a new generation of a topic is wanted."""
        return topic in self.adopt or ALL in self.adopt

    def accepts_loss(self, tp: TopicPartition, topics: Collection[str]) -> bool:
        """Say whether lost offsets of a partition may be skipped. A name that is one of the ``topics`` means the topic."""
        names = self.accept_loss
        return ALL in names or tp.topic in names or (str(tp) in names and str(tp) not in topics)
