"""The columns that records contain and the table lacks, collected record by record.

The cost of a record depends on the record alone, not on how many columns there are already: producers choose the keys,
and each record may contain new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from floe_job.exceptions import Unconvertible
from floe_job.schema.field_outline import (
    Deep,
    Outline,
    Unsure,
    columns,
    count,
    is_plain,
    joined,
    lowered,
    outline,
    scalar_kind,
)
from floe_job.schema.inference import SCALAR_KINDS, distinct, infer, kind_of_all, resolve_conflict, same_name, wider
from floe_job.schema.limits import FullNames, check_count, check_depth, check_name, check_reserved
from floe_job.schema.proposal import (
    ELEMENT,
    PRIMITIVES,
    VALUE,
    ColumnRules,
    ListOf,
    Path,
    Proposal,
    StructOf,
    iceberg_type,
)
from floe_job.types import Converter, converter
from floe_job.types.numbers import refuse
from floe_job.types.typed_values import made_primitive

Found = Sequence[tuple[Path, Any]]
"""Path and value of each field of a record that no column is there for."""


class ProposedColumns:
    """Columns by path. A record changes them as a whole or, once it is refused, not at all.

    ``count``: of all columns, nested ones and those of the table included. ``takes_made``: whether values may be such as
    only transforms make, see ``floe_job.types.typed_values``.
    """

    takes_made = False

    def __init__(self, rules: ColumnRules, names: FullNames, count: int) -> None:
        """Start with none. ``names`` and ``count``: of the existing columns, nested ones included."""
        self._rules = rules
        self._names = names
        self.count = count
        self._nodes: dict[Path, tuple[Path, ColumnNode]] = {}
        self._open = AddedColumns(self._nodes, fold=rules.case_insensitive)
        self._change = RecordChange()
        self._unread: dict[Path, None] = {}

    def take(self, found: Found) -> bool:
        """Widen the columns by a record's values; return whether that changes any. ``keep`` or ``undo`` has to follow.

        Raises Unconvertible for a value that its column does not take, Unnameable for a column that the table cannot get,
        SchemaConflict if the rules say so.
        """
        try:
            added, first = self._open.count(found)
        except Unsure:
            return self._take(found)
        if first is None:
            return False
        check_count(self.count + added, first)  # most records with keys of their own find here that the table is full
        return self._take(found)

    def _take(self, found: Found) -> bool:
        self._change = change = RecordChange()
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
        if not change.roots:
            return
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
        self._change = RecordChange()

    def undo(self) -> None:
        """Undo what the last record changed."""
        if not self._change.undo:
            return
        for step in reversed(self._change.undo):
            step()
        self._change = RecordChange()

    def changes(self) -> dict[Path, Proposal]:
        """Return the columns that have changed since the last call, in record order."""
        nodes = [self._nodes[self._same(path)] for path in self._unread]
        self._unread.clear()
        return {path: node.as_proposal() for path, node in nodes}

    # -- growing ------------------------------------------------------------------------------------------------------

    def _same(self, path: Path) -> Path:
        if not self._rules.case_insensitive:
            return path
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

    def _extend(self, node: ColumnNode, value: Any, path: Path) -> bool:
        """Widen a node by one more value; return whether it changed."""
        if value is None:
            return False
        if node.kind == STRUCT and isinstance(value, dict):
            entries = distinct(value, self._rules).items()
            changed = [self._extend_field(node, same, key, entry, path) for same, (key, entry) in entries]
        elif node.element is not None and isinstance(value, list):
            changed = [self._extend(node.element, entry, (*path, ELEMENT)) for entry in value]
        else:
            changed = [
                SCALAR_KINDS.get(type(value)) != node.kind and self._merge(node, self._look_at(value, path), path)
            ]
        if not any(changed):
            return False
        self._change.touched.append(node)
        return True

    def _extend_field(self, node: ColumnNode, same: str, key: str, entry: Any, path: Path) -> bool:
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

    def _infer(self, value: Any, path: Path, *, is_new: bool = True) -> ColumnNode | None:
        """Propose a type for a value, by the rules of ``floe_job.schema.inference``; None where it has none.

        Raises NestedTooDeep, unless it becomes no column.
        """
        if isinstance(value, dict):
            entries = distinct(value, self._rules).items()
            found = ((same, key, self._infer(entry, (*path, key), is_new=is_new)) for same, (key, entry) in entries)
            fields = {same: (key, node) for same, key, node in found if node is not None}
            return ColumnNode(STRUCT, fields) if fields else None
        if isinstance(value, list):
            element = self._scalar_element(value, (*path, ELEMENT), is_new=is_new)
            for entry in value if element is None else ():
                if element is None:
                    element = self._infer(entry, (*path, ELEMENT), is_new=is_new)
                else:
                    self._extend(element, entry, (*path, ELEMENT))
            return None if element is None else ColumnNode(LIST, {}, element)
        kind = infer(value)
        if not isinstance(kind, str):
            return None
        if is_new:
            check_depth(path)
        return ColumnNode(kind)

    def _scalar_element(self, values: list[Any], path: Path, *, is_new: bool) -> ColumnNode | None:
        """Propose the element of a list of nothing but scalars, all at once; None for other lists."""
        kind = kind_of_all(values, self._rules.on_conflict)
        if kind is None:
            return None
        if is_new:
            check_depth(path)
        return ColumnNode(kind)

    def _look_at(self, value: Any, path: Path) -> ColumnNode | None:
        """Propose a type for a value that becomes no column."""
        change, self._change = self._change, RecordChange()
        try:
            return self._infer(value, path, is_new=False)
        finally:
            self._change = change

    def _merge(self, node: ColumnNode, later: ColumnNode | None, path: Path) -> bool:
        """Merge a value of another kind into a node."""
        if later is None or later.kind == node.kind:
            return False
        kind = wider(node.kind, later.kind)
        if kind is None:
            resolved = resolve_conflict(_outline(node), _outline(later), self._rules, path)
            kind = resolved if isinstance(resolved, str) else node.kind
        if kind == node.kind:
            return False
        before = ColumnNode(node.kind, node.fields, node.element)
        if node.fields or node.element is not None:
            self._change.dropped.append((path, before))

        def restore() -> None:
            node.kind, node.fields, node.element = before.kind, before.fields, before.element

        self._change.undo.append(restore)
        node.kind, node.fields, node.element = kind, {}, None
        return True

    # -- judging ------------------------------------------------------------------------------------------------------

    def _convert(self, node: ColumnNode, value: Any) -> None:
        """Convert a value to the current proposal for it. Raises Unconvertible."""
        if value is None:
            return
        if node.kind == STRUCT:
            self._convert_struct(node, value)
        elif node.element is not None:
            if not isinstance(value, list):
                raise refuse(value, LIST)
            convert = self._converter(node.element.kind) if node.element.kind in PRIMITIVES else None
            try:
                for entry in value:
                    if convert is None:
                        self._convert(node.element, entry)
                    elif entry is not None:
                        convert(entry)
            except Unconvertible as error:
                raise error.inside(ELEMENT) from None
        else:
            self._converter(node.kind)(value)

    def _converter(self, kind: str) -> Converter:
        return _made_converter(kind) if self.takes_made else _converter(kind)

    def _convert_struct(self, node: ColumnNode, value: Any) -> None:
        if not isinstance(value, dict):
            raise refuse(value, STRUCT)
        for same, (_, entry) in distinct(value, self._rules).items():
            known = node.fields.get(same)
            if known is not None:
                try:
                    self._convert(known[1], entry)
                except Unconvertible as error:
                    raise error.inside(known[0]) from None

    def _check(self) -> None:
        """Check names and number of the new columns. Raises Unnameable."""
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


def _outline(node: ColumnNode) -> Proposal:
    """Return what a node is without what is inside: enough to decide between two of different kinds."""
    if node.kind == STRUCT:
        return StructOf(())
    return node.kind if node.element is None else ListOf(_outline(node.element))


@lru_cache
def _converter(kind: str) -> Converter:
    return converter(iceberg_type(kind))


@lru_cache
def _made_converter(kind: str) -> Converter:
    return made_primitive(iceberg_type(kind))


# Columns that records contain, as a tree that grows, and what one record changes in it.


STRUCT, LIST = "struct", "list"


@dataclass(slots=True, eq=False)
class ColumnNode:
    """A proposal that grows. ``fields``: of a struct, name and node by what spellings of a name have in common.

    ``is_kept``: an accepted record contains it.
    """

    kind: str
    fields: dict[str, tuple[str, ColumnNode]] = field(default_factory=dict)
    element: ColumnNode | None = None
    proposal: Proposal | None = None
    is_kept: bool = False

    def inside(self, path: Path) -> Iterator[tuple[Path, ColumnNode]]:
        """Yield the nodes right inside, with their paths."""
        if self.element is not None:
            yield (*path, ELEMENT), self.element
        for name, node in self.fields.values():
            yield (*path, name), node

    def all(self, path: Path) -> list[tuple[Path, ColumnNode]]:
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
class RecordChange:
    """What one record changes, and how to undo it. ``added`` and ``dropped`` are outermost nodes."""

    roots: dict[Path, None] = field(default_factory=dict)
    added: list[tuple[Path, ColumnNode]] = field(default_factory=list)
    dropped: list[tuple[Path, ColumnNode]] = field(default_factory=list)
    touched: list[ColumnNode] = field(default_factory=list)
    undo: list[Callable[[], object]] = field(default_factory=list)

    def nodes_added(self) -> list[tuple[Path, ColumnNode]]:
        """Return all new nodes that are still there."""
        gone = {path for path, _ in self.dropped}
        nodes = {inner: node for path, one in self.added for inner, node in one.all(path)}
        if not gone:
            return list(nodes.items())
        return [one for one in nodes.items() if gone.isdisjoint(one[0][:end] for end in range(1, len(one[0])))]


# Counts the columns that a record would add, without changing anything.
#
# Most records with keys of their own are read for a table without room for them. Counting is enough to find that out.


class AddedColumns:
    """Compares records with the columns, by path, that earlier records have added."""

    def __init__(self, nodes: Mapping[Path, tuple[Path, ColumnNode]], *, fold: bool) -> None:
        """``nodes`` may grow meanwhile. ``fold``: names are looked up without regard to case."""
        self._nodes = nodes
        self._fold = fold
        self._alone = 0
        self._added: dict[object, Outline] = {}

    def count(self, found: Sequence[tuple[Path, Any]]) -> tuple[int, Path | None]:
        """Count the columns that the fields of a record add, nested ones included, and name the first that grows.

        With no column to add, the record changes no column, and its values convert. Raises Unsure where that is not certain,
        where values differ in kind, or where something else might be wrong with them; NestedTooDeep.
        """
        self._alone, self._added = 0, {}
        nodes, fold = self._nodes, self._fold
        first: Path | None = None
        for path, value in found:
            same = tuple(map(str.lower, path)) if fold else path
            known = nodes.get(same)
            if known is None and len(path) == 1 and is_plain(value):
                self._alone += 1
                first = first or path
            elif self._grows(same, path, value, known[1] if known else None) and first is None:
                first = known[0] if known else path
        return self._alone + sum(map(columns, self._added.values())), first

    def _grows(self, same: Path, path: Path, value: Any, known: ColumnNode | None) -> bool:
        is_alone = len(path) == 1 or not (ELEMENT in path or VALUE in path)
        try:
            if known is None:
                return self._add(same, value, len(path), is_alone=is_alone)
            before = self._alone, len(self._added)
            self._beside(known, value, len(path), is_alone=is_alone)
        except Deep as deep:
            if known is None:
                check_depth((*path, *deep.path))
            raise Unsure from None
        return before != (self._alone, len(self._added))

    def _add(self, place: object, value: Any, depth: int, *, is_alone: bool) -> bool:
        if is_alone:
            found = count(value, depth, fold=self._fold)
            self._alone += found
            return found > 0
        inside = outline(value, depth, fold=self._fold)
        if inside is None:
            if value is None:
                return False
            raise Unsure
        added = self._added
        added[place] = joined(added[place], inside) if place in added else inside
        return True

    def _beside(self, node: ColumnNode, value: Any, depth: int, *, is_alone: bool) -> None:
        """Examine a value of a known column."""
        if value is None:
            return
        if node.kind == STRUCT:
            if type(value) is not dict:
                raise Unsure
            self._inside(node, value, depth + 1, is_alone=is_alone)
        elif node.element is not None:
            if type(value) is not list:
                raise Unsure
            for entry in value:
                self._beside(node.element, entry, depth + 1, is_alone=False)
        else:
            kind = scalar_kind(value)
            if kind != node.kind and not (kind == "long" and node.kind == "double"):
                raise Unsure

    def _inside(self, node: ColumnNode, value: dict[str, Any], depth: int, *, is_alone: bool) -> None:
        for key, entry in (lowered(value) if self._fold else value).items():
            known = node.fields.get(key)
            if known is not None:
                self._beside(known[1], entry, depth, is_alone=is_alone)
            else:
                self._add((id(node), key), entry, depth, is_alone=is_alone)
