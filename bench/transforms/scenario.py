"""The input of a system that transforms records: a topic, a chain, and the tables for what comes out of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from bench.formats.base import Registry
from bench.formats.scenario import FormatScenario
from bench.transforms.chains import FILTER, NOTHING, UNWRAP, Chain, columns_of, of_fields
from bench.transforms.rows import FIELDS, deletes
from bench.transforms.shapes import PLAIN_FIELDS, RowShape, shape_of

FLAT: Final = "flat JSON"
OF_TEXT: Final = f"{FLAT}, three transforms"
OF_EPOCH: Final = f"{FLAT}, three transforms, epoch ms"
MARKED: Final = "JSON with headers"
FILTERED: Final = f"{MARKED}, half filtered"
WITH_SCHEMAS: Final = ("envelope", "avro")
SMALLER: Final = {"envelope": 4}
"""Formats whose records are larger, by how much: there are as many fewer."""


@dataclass(frozen=True)
class TransformScenario(FormatScenario):
    """``chain``: the keys of its transforms; ``dropped``: how many records they leave out.

    ``shape``: of the records, with the columns that the chain makes of them.
    """

    chain: Chain = field(default_factory=dict)
    dropped: int = 0

    @property
    def rows(self) -> int:
        """How many rows become of the records."""
        return self.records - self.dropped

    def keys(self, namespace: str) -> dict[str, Any]:
        """Return a connector's keys, with the chain."""
        return {**super().keys(namespace), **self.chain}


def of_changes(name: str) -> str:
    """Return the name of the scenario with change events of a format as they are."""
    return f"change events, {name}"


def of_unwrapped(name: str) -> str:
    """Return the name of the scenario with unwrapped change events of a format."""
    return f"{of_changes(name)}, unwrapped"


def of_rows(name: str) -> str:
    """Return the name of the scenario with flat rows of a format."""
    return f"rows, {name}"


def turns(records: int, registry: Registry) -> Iterator[Sequence[TransformScenario]]:
    """Yield what is measured in turns: scenarios to compare with each other."""
    yield _flat(records)
    for name in WITH_SCHEMAS:
        yield _of_events(name, records // SMALLER.get(name, 1), registry)
    yield _filtered(records)


def _flat(records: int) -> Sequence[TransformScenario]:
    shape = RowShape("rows as json", PLAIN_FIELDS)
    plain = TransformScenario(FLAT, shape, "transforms-flat", records, format="json", chain=NOTHING)
    return (
        plain,
        *(
            replace(plain, name=name, shape=replace(shape, fields=columns_of(time)), chain=of_fields(time))
            for name, time in ((OF_TEXT, "ordered_at"), (OF_EPOCH, "updated_at"))
        ),
    )


def _of_events(name: str, records: int, registry: Registry) -> Sequence[TransformScenario]:
    changes, rows = (shape_of(name, registry, is_change=is_change) for is_change in (True, False))
    topic = f"transforms-changes-{name}"
    as_they_are = TransformScenario(of_changes(name), changes, topic, records, format=name, registry=registry)
    return (
        as_they_are,
        replace(
            as_they_are,
            name=of_unwrapped(name),
            shape=replace(changes, fields=FIELDS),
            chain=UNWRAP,
            dropped=deletes(records),
        ),
        replace(as_they_are, name=of_rows(name), shape=rows, topic=f"transforms-rows-{name}"),
    )


def _filtered(records: int) -> Sequence[TransformScenario]:
    shape = RowShape("rows as json with headers", PLAIN_FIELDS, is_marked=True)
    whole = TransformScenario(MARKED, shape, "transforms-marked", records, format="json", chain=NOTHING)
    return whole, replace(whole, name=FILTERED, chain=FILTER, dropped=records // 2)
