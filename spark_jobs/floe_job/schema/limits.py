"""The columns that no table should get, even if records require them."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from functools import lru_cache

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema, index_by_name, make_compatible_name

from floe_job.exceptions import VALUE_LENGTH, NameTooLong, NestedTooDeep, TooManyColumns, Unnameable, clip
from floe_job.schema.proposal import ListOf, MapOf, Path, Proposal, Required, StructOf, bare, inside

MAX_COLUMNS = 1000
MAX_NAME_LENGTH = 255
MAX_COLUMN_DEPTH = 32
MAX_FULL_NAME_LENGTH, MAX_DOTS = 2000, 64
"""Limit for a column's name with those of all columns that it is in: each dot may be part of a name, and is examined."""

_NO_TEXT = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters, and halves of surrogate pairs, which are not text."""

_COMPATIBLE = re.compile("[A-Za-z_][A-Za-z0-9_]*")
"""Names that are the same in files."""

_Place = tuple[str, str]
_OR_DROP = "or set iceberg.tables.evolve-schema-enabled to false, which leaves new fields out"


def check_depth(path: Path) -> None:
    """Check the number of levels of a new column. Raises NestedTooDeep."""
    if len(path) > MAX_COLUMN_DEPTH:
        problem = (
            f"column {clip('.'.join(path), VALUE_LENGTH)!r}: more than {MAX_COLUMN_DEPTH} levels, which is the cap; "
            f"flatten the record, {_OR_DROP}"
        )
        raise NestedTooDeep(problem)


def check_name(path: Path) -> None:
    """Check the name of a new column. Raises Unnameable."""
    _check_name(path[-1])
    full_name = ".".join(path)
    if len(full_name) > MAX_FULL_NAME_LENGTH or full_name.count(".") > MAX_DOTS:
        problem = (
            f"column {clip(full_name, VALUE_LENGTH)!r}: with what it is in, a name of {len(full_name)} characters and "
            f"{full_name.count('.')} dots, the caps are {MAX_FULL_NAME_LENGTH} and {MAX_DOTS}; shorten it, {_OR_DROP}"
        )
        raise NameTooLong(problem)


def check_count(count: int, path: Path) -> None:
    """Check the number of columns of a table, nested ones included. Raises TooManyColumns."""
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
    """Check that no column has the name of a partition field. Raises Unnameable."""
    name = next((name for name in names if name in reserved), None) if reserved else None
    if name is not None:
        problem = (
            f"column {clip(name, VALUE_LENGTH)!r}: a partition field of the table has this name, now or in an older spec, "
            f"and then no other column may; rename the field of the record, {_OR_DROP}"
        )
        raise Unnameable(problem)


class FullNames:
    """The dotted names of columns, and where in files each may be located. The cost of a check depends on the new names.

    ``twins``: two columns of a struct may have names that differ by case only.
    """

    def __init__(self, names: Iterable[str], *, twins: bool = False) -> None:
        self._twins = twins
        self._names = set(names)
        self._places = {place: name for name in self._names for place in _places(name, self._names, twins=twins)}

    def check(self, names: Sequence[str], path: Path) -> None:
        """Check that dotted names are neither taken nor equal, as they are, in files or but for case. Raises Unnameable."""
        new: dict[_Place, str] = {}
        for name, place in self._places_of(names):
            other = new.get(place, self._places.get(place))
            if other is not None:
                raise Unnameable(_taken(name, other, path))
            new[place] = name

    def add(self, names: Sequence[str]) -> None:
        """Add the names of new columns, which have passed the check."""
        self._places.update((place, name) for name, place in self._places_of(names))
        self._names.update(names)

    def remove(self, names: Sequence[str]) -> None:
        """Remove the names of columns."""
        if not names:
            return
        self._names.difference_update(names)
        for _, place in self._places_of(names):
            self._places.pop(place, None)

    def _places_of(self, names: Sequence[str]) -> list[tuple[str, _Place]]:
        columns = _Both(self._names, frozenset(names))
        return [(name, place) for name in names for place in _places(name, columns, twins=self._twins)]


def _taken(name: str, other: str, path: Path) -> str:
    """Say which two columns cannot be beside each other, and what to do."""
    if name != other and in_any_case(name) == in_any_case(other):
        return (
            f"column {clip(name, VALUE_LENGTH)!r}: differs by case only from {clip(other, VALUE_LENGTH)!r}, and Spark "
            "and Trino read no such table; rename the field, or set iceberg.tables.schema-case-insensitive to true for one "
            "column, floe.schema.case to sensitive for two, iceberg.tables.evolve-schema-enabled to false for none"
        )
    return (
        f"column {clip(path[-1], VALUE_LENGTH)!r}: with it two columns would have one full name, by a dot in a "
        f"name, or one name in files, where 'a.b' is a_x2Eb and '1' is _1; rename the field, {_OR_DROP}"
    )


class _Both(Container[str]):
    """The union of two sets, for look-ups."""

    def __init__(self, first: Container[str], second: Container[str]) -> None:
        self._first, self._second = first, second

    def __contains__(self, name: object) -> bool:
        return name in self._first or name in self._second


class ColumnLimits:
    """The columns that a table can still get: up to the limit, with names that no other column has."""

    def __init__(self, full_names: Iterable[str], count: int, *, twins: bool = False) -> None:
        """Start with the dotted names of the existing columns, and their number, nested ones included.

        ``twins``: two columns of a struct may have names that differ by case only.
        """
        self._left = MAX_COLUMNS - count
        self._twins = twins
        self._names = set(full_names)
        self._places = {place for name in self._names for place in _places(name, self._names, twins=twins)}

    def admit(self, path: Path, proposal: Proposal) -> Proposal | None:
        """Add one more column with what is inside it, as far as there is room; None if nothing of it is left."""
        name = ".".join(path)
        places = set(_places(name, self._names, twins=self._twins))
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
        if isinstance(proposal, Required):
            admitted = self._admit_inside(path, proposal.type)
            return None if admitted is None else Required(bare(admitted))
        if isinstance(proposal, str):
            return proposal
        found = ((inner[-1], self.admit(inner, nested)) for inner, nested in inside(path, proposal))
        kept = [(name, admitted) for name, admitted in found if admitted is not None]
        if isinstance(proposal, MapOf):
            return MapOf(kept[0][1], kept[1][1]) if len(kept) == len(("key", "value")) else None
        if not kept:
            return None
        return ListOf(kept[0][1]) if isinstance(proposal, ListOf) else StructOf(tuple(kept))


def full_names(path: Path, proposal: Proposal) -> Iterator[str]:
    """Yield the dotted names by which Iceberg finds a column and those inside it."""
    yield ".".join(path)
    for inner, nested in inside(path, proposal):
        yield from full_names(inner, nested)


def _places(name: str, columns: Container[str], *, twins: bool) -> Iterator[_Place]:
    """Yield where the column of a dotted name may be located: what it is in, and its name there as files have it.

    After the name of a column, a dot may be part of a name, or separate it from what is inside. Both are considered.
    Without ``twins`` a name in another case has the same place.
    """
    in_file = _in_file if twins else _in_any_case
    yield "", in_file(name)
    dot = name.find(".")
    while dot >= 0:
        if name[:dot] in columns:
            yield name[:dot], in_file(name[dot + 1 :])
        dot = name.find(".", dot + 1)


def _in_any_case(name: str) -> str:
    return in_any_case(_in_file(name))


def in_any_case(name: str) -> str:
    """Return what the names have in common that engines take for one, as Java's ``equalsIgnoreCase`` does.

    Letters with one capital are one to it, such as the two small sigmas, though in lower case they differ.
    """
    lowered = name.lower()
    return lowered if lowered.isascii() else "".join(map(_one_case, lowered)).replace("i\u0307", "i")


@lru_cache(maxsize=4096)
def _one_case(character: str) -> str:
    upper = character.upper()
    return (upper if len(upper) == 1 else character).lower()


def _in_file(name: str) -> str:
    return name if not name or _COMPATIBLE.fullmatch(name) else _made_compatible(name)


@lru_cache(maxsize=4096)
def _made_compatible(name: str) -> str:
    return make_compatible_name(name)


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
    if _NO_TEXT.search(name):
        problem = (
            f"column {clip(ascii(name), VALUE_LENGTH)}: a control character in its name; rename the field, {_OR_DROP}"
        )
        raise Unnameable(problem)
