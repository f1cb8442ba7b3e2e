"""The columns that no table should get, though records ask for them."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Container, Iterable, Iterator
from functools import lru_cache

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema, index_by_name, make_compatible_name

from floe_job.exceptions import VALUE_LENGTH, NameTooLong, NestedTooDeep, TooManyColumns, Unnameable, clip
from floe_job.infer import ELEMENT, ListOf, Path, Proposal, StructOf

MAX_COLUMNS = 1000
MAX_NAME_LENGTH = 255
MAX_COLUMN_DEPTH = 32

_OR_DROP = "or set iceberg.tables.evolve-schema-enabled to false, which leaves new fields out"


def check_column(path: Path, proposal: Proposal) -> None:
    """Refuse a new column for its name or its depth, or for those inside it. Raises Unnameable."""
    _check_name(path[-1])
    if len(path) > MAX_COLUMN_DEPTH:
        problem = (
            f"column {clip('.'.join(path), VALUE_LENGTH)!r}: more than {MAX_COLUMN_DEPTH} levels, which is the cap; "
            f"flatten the record, {_OR_DROP}"
        )
        raise NestedTooDeep(problem)
    for inner, nested in _inside(path, proposal):
        check_column(inner, nested)


def check_count(count: int, path: Path) -> None:
    """Refuse a table of too many columns, nested ones counted. Raises TooManyColumns."""
    if count > MAX_COLUMNS:
        problem = (
            f"column {clip(path[-1], VALUE_LENGTH)!r}: the table would have more than {MAX_COLUMNS} columns, which is the "
            f"cap; drop columns, {_OR_DROP}"
        )
        raise TooManyColumns(problem)


def reserved_names(specs: Iterable[PartitionSpec], schema: Schema) -> frozenset[str]:
    """Return the names of partition fields, of old specs too, that no new column may get; PyIceberg would refuse it."""
    return frozenset(field.name for spec in specs for field in spec.fields) - index_by_name(schema).keys()


def check_reserved(names: Iterable[str], reserved: Collection[str]) -> None:
    """Refuse columns by the name of a partition field. Raises Unnameable."""
    name = next((name for name in names if name in reserved), None) if reserved else None
    if name is not None:
        problem = (
            f"column {clip(name, VALUE_LENGTH)!r}: a partition field of the table has this name, now or in an older spec, "
            f"and then no other column may; rename the field of the record, {_OR_DROP}"
        )
        raise Unnameable(problem)


def check_full_names(names: Collection[str], known: Collection[str], path: Path) -> None:
    """Refuse columns whose dotted names are taken, or the same, as they are or in files. Raises Unnameable."""
    columns = {*names, *known}
    places = [place for name in names for place in _places(name, columns)]
    distinct = set(places)
    if len(distinct) < len(places) or any(not distinct.isdisjoint(_places(name, columns)) for name in known):
        problem = (
            f"column {clip(path[-1], VALUE_LENGTH)!r}: with it two columns would have one full name, by a dot in a name, or "
            f"one name in files, where 'a.b' is a_x2Eb and '1' is _1; rename the field, {_OR_DROP}"
        )
        raise Unnameable(problem)


class Room:
    """What a table has room for: columns up to the cap, by names that no other has."""

    def __init__(self, full_names: Iterable[str], count: int) -> None:
        """Begin with the dotted names of the columns that there are, and their number, nested ones included."""
        self._left = MAX_COLUMNS - count
        self._names = set(full_names)
        self._places = {place for name in self._names for place in _places(name, self._names)}

    def admit(self, path: Path, proposal: Proposal) -> Proposal | None:
        """Take one more column with what is inside it, as far as there is room; None if nothing of it is left."""
        name = ".".join(path)
        places = set(_places(name, self._names))
        if self._left < 1 or not self._places.isdisjoint(places):
            return None
        self._left -= 1
        self._names.add(name)
        self._places |= places
        admitted = self._admit_inside(path, proposal)
        if admitted is None:
            self._left += 1
            self._names.remove(name)
            self._places -= places
        return admitted

    def _admit_inside(self, path: Path, proposal: Proposal) -> Proposal | None:
        if isinstance(proposal, str):
            return proposal
        found = ((inner[-1], self.admit(inner, nested)) for inner, nested in _inside(path, proposal))
        kept = [(name, admitted) for name, admitted in found if admitted is not None]
        if not kept:
            return None
        return ListOf(kept[0][1]) if isinstance(proposal, ListOf) else StructOf(tuple(kept))


def full_names(path: Path, proposal: Proposal) -> Iterator[str]:
    """Yield the dotted names by which Iceberg finds a column and those inside it."""
    yield ".".join(path)
    for inner, nested in _inside(path, proposal):
        yield from full_names(inner, nested)


def _inside(path: Path, proposal: Proposal) -> Iterator[tuple[Path, Proposal]]:
    if isinstance(proposal, ListOf):
        yield (*path, ELEMENT), proposal.element
    elif isinstance(proposal, StructOf):
        for name, field in proposal.fields:
            yield (*path, name), field


def _places(name: str, columns: Container[str]) -> Iterator[tuple[str, str]]:
    """Yield where the column of a dotted name may stand: what it is in, and its name there as files have it.

    Behind the name of a column a dot may be one in a name, or the step to what is inside: both are minded.
    """
    yield "", _in_file(name)
    dot = name.find(".")
    while dot >= 0:
        if name[:dot] in columns:
            yield name[:dot], _in_file(name[dot + 1 :])
        dot = name.find(".", dot + 1)


@lru_cache(maxsize=4096)
def _in_file(name: str) -> str:
    return make_compatible_name(name) if name else name


def _check_name(name: str) -> None:
    if not name:
        problem = f"a column with an empty name; name the field, {_OR_DROP}"
        raise Unnameable(problem)
    if len(name) > MAX_NAME_LENGTH:
        problem = (
            f"column {clip(name, VALUE_LENGTH)!r}: a name of {len(name)} characters, the cap is {MAX_NAME_LENGTH}; shorten "
            f"it, {_OR_DROP}"
        )
        raise NameTooLong(problem)
    # Cc: control characters; Cs: half of a surrogate pair, which is not text.
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        problem = (
            f"column {clip(ascii(name), VALUE_LENGTH)}: a control character in its name; rename the field, {_OR_DROP}"
        )
        raise Unnameable(problem)
