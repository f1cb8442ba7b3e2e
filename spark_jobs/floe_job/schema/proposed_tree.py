"""Columns that records contain, as a tree that grows, and what one record changes in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from floe_job.schema.proposal import ELEMENT, ListOf, Path, Proposal, StructOf

STRUCT, LIST = "struct", "list"


@dataclass(slots=True, eq=False)
class Node:
    """A proposal that grows. ``fields``: of a struct, name and node by what spellings of a name have in common.

    ``is_kept``: an accepted record contains it.
    """

    kind: str
    fields: dict[str, tuple[str, Node]] = field(default_factory=dict)
    element: Node | None = None
    proposal: Proposal | None = None
    is_kept: bool = False

    def inside(self, path: Path) -> Iterator[tuple[Path, Node]]:
        """Yield the nodes right inside, with their paths."""
        if self.element is not None:
            yield (*path, ELEMENT), self.element
        for name, node in self.fields.values():
            yield (*path, name), node

    def all(self, path: Path) -> list[tuple[Path, Node]]:
        """Return this node and all inside, with their paths."""
        found = [(path, self)]
        for place, node in found:  # which grows
            found += node.inside(place)
        return found

    def as_proposal(self) -> Proposal:
        """Return the proposal as it is now; what has not changed since the last call is reused."""
        if self.proposal is None:
            if self.kind == STRUCT:
                self.proposal = StructOf(tuple((name, node.as_proposal()) for name, node in self.fields.values()))
            else:
                self.proposal = self.kind if self.element is None else ListOf(self.element.as_proposal())
        return self.proposal


@dataclass
class Change:
    """What one record changes, and how to undo it. ``added`` and ``dropped`` are outermost nodes."""

    roots: dict[Path, None] = field(default_factory=dict)
    added: list[tuple[Path, Node]] = field(default_factory=list)
    dropped: list[tuple[Path, Node]] = field(default_factory=list)
    touched: list[Node] = field(default_factory=list)
    undo: list[Callable[[], object]] = field(default_factory=list)

    def nodes_added(self) -> list[tuple[Path, Node]]:
        """Return all new nodes that are still there."""
        gone = {path for path, _ in self.dropped}
        nodes = {inner: node for path, one in self.added for inner, node in one.all(path)}
        if not gone:
            return list(nodes.items())
        return [one for one in nodes.items() if gone.isdisjoint(one[0][:end] for end in range(1, len(one[0])))]
