"""What happens when: bags of kinds, shuffled by the seed, so that every kind comes equally often and the same again."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

PROCESS = (
    "kill at a crash point",
    "kill at a random moment",
    "zombie, held and woken later",
    "two runs at once",
    "kill at a crash point",
    "kill at a random moment",
    "twins of every task",
    "zombie, held and woken later",
    "two runs at once",
    "run dies for good",
)
"""To the processes of one run."""

CATALOG = (
    "commit answer lost",
    "commit answer rewritten to an error",
    "commit refused",
    "commit reset",
    "commit sent twice",
    "Kafka's answer lost",
    "Kafka's connections reset",
)
"""On the wire, during that run."""

REGISTRY = (
    "registry down",
    "registry slow",
    "registry answers errors",
    "registry replaced by a page",
    "schema registered",
)
"""To the schema registry, if there is one, during that run."""

DATA = (
    "aborted transaction",
    "hanging transaction",
    "tombstones",
    "poison",
    "records without a route",
    "poison",
    "foreign append",
    "foreign schema change",
    "foreign compaction",
    "foreign partition change",
)
"""In topics and tables, before it."""

RARE = (
    "broker killed",
    "group deleted",
    "partition added",
    "position rewound",
    "control topic deleted",
    "records removed before they were read",
    "broker held",
    "position overwritten",
    "table rolled back",
    "topic re-created",
    "Python worker killed",
)
"""What needs an operator's decision, or the broker to start again: one of them every few rounds."""

RARE_EVERY = 5


@dataclass(frozen=True)
class Round:
    """One round: a run and what befalls it. ``seed``: for all that is random inside."""

    number: int
    seed: int
    process: str
    catalog: str
    data: str
    rare: str | None


class _Bag:
    def __init__(self, chance: random.Random, kinds: Sequence[str]) -> None:
        self._chance, self._kinds = chance, kinds
        self._left: list[str] = []

    def draw(self) -> str:
        if not self._left:
            self._left = list(self._kinds)
            self._chance.shuffle(self._left)
        return self._left.pop()


def rounds(seed: int, *, has_registry: bool = False) -> Iterator[Round]:
    """Yield the rounds of a seed, without end."""
    chance = random.Random(seed)
    wire = (*CATALOG, *REGISTRY) if has_registry else CATALOG
    process, catalog, data = (_Bag(chance, kinds) for kinds in (PROCESS, wire, DATA))
    rare = _Bag(chance, RARE)
    number = 0
    while True:
        number += 1
        is_rare = number % RARE_EVERY == 0
        yield Round(
            number,
            chance.randrange(2**32),
            process.draw(),
            catalog.draw(),
            data.draw(),
            rare.draw() if is_rare else None,
        )
