"""``floe.table.<table>.sort-by``: terms as of a partitioning, each with its direction and the place of its nulls."""

import re
from dataclasses import dataclass

from floe.config.partition import PartitionTerm, parse_term, split_terms

_DIRECTION = re.compile(r"\s(asc|desc)$", re.IGNORECASE)
_NULLS = re.compile(r"\snulls\s+(first|last)$", re.IGNORECASE)


@dataclass(frozen=True)
class SortTerm:
    """One sort field: ``transform`` of ``column``, with the number of buckets or the width as ``argument``.

    ``nulls_first`` is None where the text does not say; ``nulls_lead`` is what then holds.
    """

    column: str
    transform: str = "identity"
    argument: int | None = None
    descending: bool = False
    nulls_first: bool | None = None

    def __str__(self) -> str:
        term = str(self.term)
        if self.term.transform == "identity" and re.search(r"\s", term):
            term = f"identity({term})"
        nulls = "" if self.nulls_first is None else f" nulls {'first' if self.nulls_first else 'last'}"
        return f"{term}{' desc' if self.descending else ''}{nulls}"

    @property
    def term(self) -> PartitionTerm:
        """What is sorted by, without the direction."""
        return PartitionTerm(self.transform, self.column, self.argument)

    @property
    def nulls_lead(self) -> bool:
        """Tell whether nulls come first: as in Iceberg and Spark, they do in ascending order if nothing is said."""
        return not self.descending if self.nulls_first is None else self.nulls_first


def parse_sort_by(text: str) -> tuple[SortTerm, ...]:
    """Read a list of ``term [asc|desc] [nulls first|nulls last]``; a text of blanks is no order.

    :raises ValueError: with what is wrong, and the term.
    """
    terms = tuple(_parse(part) for part in split_terms(text))
    first: dict[PartitionTerm, SortTerm] = {}
    for term in terms:
        if (earlier := first.setdefault(term.term, term)) is not term:
            msg = f"{str(term)!r} sorts by what {str(earlier)!r} has sorted by before: one of them is enough"
            raise ValueError(msg)
    return terms


def _parse(text: str) -> SortTerm:
    nulls = _NULLS.search(text)
    rest = text[: nulls.start()].rstrip() if nulls else text
    direction = _DIRECTION.search(rest)
    rest = rest[: direction.start()].rstrip() if direction else rest
    if rest[-1:] != ")" and re.search(r"\s", rest):
        msg = (
            f"{text!r} does not end as a sort term may: write term, then asc or desc, then nulls first or nulls last; "
            "a column with a blank in its name is written identity(the column)"
        )
        raise ValueError(msg)
    term = parse_term(rest)
    return SortTerm(
        column=term.column,
        transform=term.transform,
        argument=term.argument,
        descending=direction is not None and direction[1].lower() == "desc",
        nulls_first=None if nulls is None else nulls[1].lower() == "first",
    )
