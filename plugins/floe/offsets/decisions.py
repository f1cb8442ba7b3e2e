"""What an operator decided about what a plan would refuse, for one run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any


class Rollback(StrEnum):
    """What becomes of the rows that a table's owner rolled back."""

    REPLAY = "replay"
    """They are read again: their offsets leave the ledger and the table owes them."""
    ACCEPT = "accept"
    """They stay away: the ledger goes on from the present head."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """The way out of each refusal; none of them is taken unless it is named.

    ``recover``: put lost or foreign positions back from the tables' ledgers. ``accept_loss``: step over offsets that
    the log no longer has. ``adopt``: topics (or ``*``) whose new incarnation, cluster or shortened log is read as a new
    generation. ``forgive``: tables whose debts are dropped. ``rolled_back``: per table, what becomes of a rollback.
    """

    recover: bool = False
    accept_loss: bool = False
    adopt: frozenset[str] = frozenset()
    forgive: frozenset[str] = frozenset()
    rolled_back: Mapping[str, Rollback] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> "Decisions":
        """Take them from a run's params of the same names."""
        return cls(
            recover=bool(params.get("recover")),
            accept_loss=bool(params.get("accept_loss")),
            adopt=frozenset(params.get("adopt") or ()),
            forgive=frozenset(params.get("forgive") or ()),
            rolled_back={str(t): Rollback(how) for t, how in (params.get("rolled_back") or {}).items()},
        )

    def adopts(self, topic: str) -> bool:
        """Say whether a new generation of a topic is wanted."""
        return topic in self.adopt or "*" in self.adopt
