"""Counts the columns that a record would add, without changing anything.

Most records with keys of their own are read for a table without room for them. Counting is enough to find that out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
from floe_job.schema.limits import check_depth
from floe_job.schema.proposal import ELEMENT, VALUE, Path
from floe_job.schema.proposed_tree import STRUCT, Node


class AddedColumns:
    """Compares records with the columns, by path, that earlier records have added."""

    def __init__(self, nodes: Mapping[Path, tuple[Path, Node]], *, fold: bool) -> None:
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

    def _grows(self, same: Path, path: Path, value: Any, known: Node | None) -> bool:
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

    def _beside(self, node: Node, value: Any, depth: int, *, is_alone: bool) -> None:
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

    def _inside(self, node: Node, value: dict[str, Any], depth: int, *, is_alone: bool) -> None:
        for key, entry in (lowered(value) if self._fold else value).items():
            known = node.fields.get(key)
            if known is not None:
                self._beside(known[1], entry, depth, is_alone=is_alone)
            else:
                self._add((id(node), key), entry, depth, is_alone=is_alone)
