"""The columns that no table should get, though records ask for them."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator

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


def check_full_names(names: Collection[str], known: Collection[str], path: Path) -> None:
    """Refuse columns whose dotted names are taken, or the same. Raises Unnameable."""
    if len(set(names)) < len(names) or not set(names).isdisjoint(known):
        problem = (
            f"column {clip(path[-1], VALUE_LENGTH)!r}: with it two columns would have one full name, one by a dot in its "
            f"name; rename the field, {_OR_DROP}"
        )
        raise Unnameable(problem)


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
