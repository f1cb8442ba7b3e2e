"""The columns that records bring and the table lacks, as they grow record by record.

What a record costs here depends on the record alone, not on how many columns there are already: whoever writes records
chooses their keys, and each may bring new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from floe_job.conform import Converter, converter
from floe_job.conform.caps import FullNames, check_count, check_depth, check_name, check_reserved
from floe_job.conform.refusal import refuse
from floe_job.exceptions import Unconvertible
from floe_job.infer import ELEMENT, ListOf, Path, Proposal, StructOf, distinct, iceberg_type, infer, same_name, settle
from floe_job.rules import ColumnRules

_STRUCT, _LIST = "struct", "list"

Found = Sequence[tuple[Path, Any]]
"""Path and value of each field of a record that no column is there for."""


@dataclass(slots=True, eq=False)
class _Node:
    """A proposal that grows. ``fields``: of a struct, name and node by what spellings of a name have in common.

    ``is_kept``: a record that was accepted has brought it.
    """

    kind: str
    fields: dict[str, tuple[str, _Node]] = field(default_factory=dict)
    element: _Node | None = None
    proposal: Proposal | None = None
    is_kept: bool = False

    def inside(self, path: Path) -> Iterator[tuple[Path, _Node]]:
        """Yield the nodes right inside, with their paths."""
        if self.element is not None:
            yield (*path, ELEMENT), self.element
        for name, node in self.fields.values():
            yield (*path, name), node

    def all(self, path: Path) -> list[tuple[Path, _Node]]:
        """Return this node and all inside, with their paths."""
        found = [(path, self)]
        for place, node in found:  # which grows
            found += node.inside(place)
        return found

    def as_proposal(self) -> Proposal:
        """Return the proposal as it is now; what has not changed since the last call is not made again."""
        if self.proposal is None:
            if self.kind == _STRUCT:
                self.proposal = StructOf(tuple((name, node.as_proposal()) for name, node in self.fields.values()))
            else:
                self.proposal = self.kind if self.element is None else ListOf(self.element.as_proposal())
        return self.proposal


@dataclass
class _Change:
    """What one record changes, and how to take it back. ``added`` and ``dropped`` are outermost nodes."""

    roots: dict[Path, None] = field(default_factory=dict)
    added: list[tuple[Path, _Node]] = field(default_factory=list)
    dropped: list[tuple[Path, _Node]] = field(default_factory=list)
    touched: list[_Node] = field(default_factory=list)
    undo: list[Callable[[], object]] = field(default_factory=list)

    def nodes_added(self) -> list[tuple[Path, _Node]]:
        """Return all new nodes that are still there."""
        gone = {path for path, _ in self.dropped}
        nodes = {inner: node for path, one in self.added for inner, node in one.all(path)}
        if not gone:
            return list(nodes.items())
        return [one for one in nodes.items() if gone.isdisjoint(one[0][:end] for end in range(1, len(one[0])))]


class ProposedColumns:
    """Columns by path. A record changes them as a whole or, once it is refused, not at all.

    ``count``: of all columns, nested ones and those of the table included.
    """

    def __init__(self, rules: ColumnRules, names: FullNames, count: int) -> None:
        """Begin with none. ``names`` and ``count``: of the columns that there are, nested ones included."""
        self._rules = rules
        self._names = names
        self.count = count
        self._nodes: dict[Path, tuple[Path, _Node]] = {}
        self._change = _Change()
        self._unread: dict[Path, None] = {}

    def take(self, found: Found) -> bool:
        """Widen the columns by a record's values; say whether that changes any. ``keep`` or ``undo`` has to follow.

        Raises Unconvertible for a value that its column does not take, Unnameable for a column that the table cannot get,
        SchemaConflict if the rules say so.
        """
        self._change = change = _Change()
        for path, value in found:
            self._widen(path, value)
        for path, value in found:
            known = self._nodes.get(self._same(path))
            if known is not None:
                try:
                    self._convert(known[1], value)
                except Unconvertible as error:
                    raise error.inside(known[0][-1]) from None
        if change.added or change.dropped:
            self._check()
        return bool(change.roots)

    def keep(self) -> None:
        """Keep what the last record changed."""
        change = self._change
        gone = [path for place, old in change.dropped for path, node in old.all(place)[1:] if node.is_kept]
        added = change.nodes_added()
        for _, node in added:
            node.is_kept = True
        self._names.remove([".".join(path) for path in gone])
        self._names.add([".".join(path) for path, _ in added])
        self.count += len(added) - len(gone)
        for node in change.touched:
            node.proposal = None
        self._unread |= change.roots
        self._change = _Change()

    def undo(self) -> None:
        """Take back what the last record changed."""
        for step in reversed(self._change.undo):
            step()
        self._change = _Change()

    def changes(self) -> dict[Path, Proposal]:
        """Return the columns that have changed since the last call, in record order."""
        nodes = [self._nodes[self._same(path)] for path in self._unread]
        self._unread.clear()
        return {path: node.as_proposal() for path, node in nodes}

    # -- growing ------------------------------------------------------------------------------------------------------

    def _same(self, path: Path) -> Path:
        return tuple(same_name(name, self._rules) for name in path)

    def _widen(self, path: Path, value: Any) -> None:
        same = self._same(path)
        known = self._nodes.get(same)
        if known is not None:
            if self._extend(known[1], value, known[0]):
                self._change.roots[known[0]] = None
            return
        node = self._infer(value, path)
        if node is not None:
            self._nodes[same] = path, node
            self._change.undo.append(lambda: self._nodes.pop(same))
            self._change.added.append((path, node))
            self._change.roots[path] = None

    def _extend(self, node: _Node, value: Any, path: Path) -> bool:
        """Widen a node by one more value; say whether it changed."""
        if value is None:
            return False
        if node.kind == _STRUCT and isinstance(value, dict):
            entries = distinct(value, self._rules).items()
            changed = [self._extend_field(node, same, key, entry, path) for same, (key, entry) in entries]
        elif node.element is not None and isinstance(value, list):
            changed = [self._extend(node.element, entry, (*path, ELEMENT)) for entry in value]
        else:
            changed = [self._merge(node, self._look_at(value, path), path)]
        if not any(changed):
            return False
        self._change.touched.append(node)
        return True

    def _extend_field(self, node: _Node, same: str, key: str, entry: Any, path: Path) -> bool:
        known = node.fields.get(same)
        if known is not None:
            return self._extend(known[1], entry, (*path, known[0]))
        added = self._infer(entry, (*path, key))
        if added is None:
            return False
        fields = node.fields
        fields[same] = key, added
        self._change.undo.append(lambda: fields.pop(same))
        self._change.added.append(((*path, key), added))
        return True

    def _infer(self, value: Any, path: Path, *, is_new: bool = True) -> _Node | None:
        """Propose a type for a value, by the rules of ``floe_job.infer``; None where nothing is said.

        Raises NestedTooDeep, unless it becomes no column.
        """
        if isinstance(value, dict):
            entries = distinct(value, self._rules).items()
            found = ((same, key, self._infer(entry, (*path, key), is_new=is_new)) for same, (key, entry) in entries)
            fields = {same: (key, node) for same, key, node in found if node is not None}
            return _Node(_STRUCT, fields) if fields else None
        if isinstance(value, list):
            element: _Node | None = None
            for entry in value:
                if element is None:
                    element = self._infer(entry, (*path, ELEMENT), is_new=is_new)
                else:
                    self._extend(element, entry, (*path, ELEMENT))
            return None if element is None else _Node(_LIST, {}, element)
        kind = infer(value)
        if not isinstance(kind, str):
            return None
        if is_new:
            check_depth(path)
        return _Node(kind)

    def _look_at(self, value: Any, path: Path) -> _Node | None:
        """Propose a type for a value that becomes no column."""
        change, self._change = self._change, _Change()
        try:
            return self._infer(value, path, is_new=False)
        finally:
            self._change = change

    def _merge(self, node: _Node, later: _Node | None, path: Path) -> bool:
        """Merge a value of another kind into a node."""
        if later is None or later.kind == node.kind:
            return False
        if {node.kind, later.kind} == {"long", "double"}:
            kind = "double"
        else:
            settled = settle(_outline(node), _outline(later), self._rules, path)
            kind = settled if isinstance(settled, str) else node.kind
        if kind == node.kind:
            return False
        before = _Node(node.kind, node.fields, node.element)
        if node.fields or node.element is not None:
            self._change.dropped.append((path, before))

        def restore() -> None:
            node.kind, node.fields, node.element = before.kind, before.fields, before.element

        self._change.undo.append(restore)
        node.kind, node.fields, node.element = kind, {}, None
        return True

    # -- judging ------------------------------------------------------------------------------------------------------

    def _convert(self, node: _Node, value: Any) -> None:
        """Convert a value to what is proposed for it by now. Raises Unconvertible."""
        if value is None:
            return
        if node.kind == _STRUCT:
            self._convert_struct(node, value)
        elif node.element is not None:
            if not isinstance(value, list):
                raise refuse(value, _LIST)
            try:
                for entry in value:
                    self._convert(node.element, entry)
            except Unconvertible as error:
                raise error.inside(ELEMENT) from None
        else:
            _converter(node.kind)(value)

    def _convert_struct(self, node: _Node, value: Any) -> None:
        if not isinstance(value, dict):
            raise refuse(value, _STRUCT)
        for same, (_, entry) in distinct(value, self._rules).items():
            known = node.fields.get(same)
            if known is not None:
                try:
                    self._convert(known[1], entry)
                except Unconvertible as error:
                    raise error.inside(known[0]) from None

    def _check(self) -> None:
        """Refuse columns that no table should get. Raises Unnameable."""
        added = self._change.nodes_added()
        if not added:
            return
        first = next(iter(self._change.roots))
        check_count(self.count + len(added), first)
        for path, _ in added:
            check_name(path)
        names = [".".join(path) for path, _ in added]
        check_reserved(names, self._rules.reserved)
        self._names.check(names, first)


def _outline(node: _Node) -> Proposal:
    """Return what a node is without what is inside: enough to decide between two of different kinds."""
    if node.kind == _STRUCT:
        return StructOf(())
    return node.kind if node.element is None else ListOf(_outline(node.element))


@lru_cache
def _converter(kind: str) -> Converter:
    return converter(iceberg_type(kind))
