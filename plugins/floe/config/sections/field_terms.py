"""``iceberg.tables.default-partition-by``: the sink's grammar of partition transforms."""

import re
from dataclasses import dataclass

_COMMA_OR_PARENTHESIS = re.compile(r"[,()]")
_CALL = re.compile(r"(\w+)\s*\((.+)\)", re.DOTALL)
_TIMES = {"years": "year", "months": "month", "days": "day", "hours": "hour"}
_PLAIN = {"identity", "year", "month", "day", "hour"}
_WITH_ARGUMENT = {"bucket", "truncate"}
_MAX_ARGUMENT = 2**31 - 1
_MAX_CHARACTERS = 4000


@dataclass(frozen=True)
class PartitionTerm:
    """One partition field: ``transform`` of ``column``, with the number of buckets or the width as ``argument``."""

    transform: str
    column: str
    argument: int | None = None

    def __str__(self) -> str:
        if self.transform == "identity":
            return self.column
        argument = "" if self.argument is None else f", {self.argument}"
        return f"{self.transform}({self.column}{argument})"

    @property
    def source(self) -> tuple[str, str]:
        """The part that may occur once in a spec: Iceberg refuses two time transforms of one column as redundant."""
        return ("time" if self.transform in _TIMES.values() else self.transform, self.column)


def parse_partition_by(text: str) -> tuple[PartitionTerm, ...]:
    """Read a list of terms; a text of blanks is no partitioning.

    :raises ValueError: with the problem and the term.
    """
    terms = tuple(parse_term(part) for part in split_terms(text))
    first: dict[tuple[str, str], PartitionTerm] = {}
    for term in terms:
        if (earlier := first.setdefault(term.source, term)) is not term:
            msg = f"{str(term)!r} repeats {str(earlier)!r}: one of them is enough"
            raise ValueError(msg)
    return terms


def split_terms(text: str) -> list[str]:
    """Split a list at the commas outside parentheses; blanks around terms are removed, a text of blanks has none.

    As in the sink, a comma is inside if the next parenthesis after it is a closing one.

    :raises ValueError: when the text is too long.
    """
    if not text.strip():
        return []
    if len(text) > _MAX_CHARACTERS:
        msg = f"{len(text)} characters are too many: write at most {_MAX_CHARACTERS}"
        raise ValueError(msg)
    marks = [(match.start(), match[0]) for match in _COMMA_OR_PARENTHESIS.finditer(text)]
    terms, end, is_inside = [], len(text), False
    for place, mark in reversed(marks):
        if mark != ",":
            is_inside = mark == ")"
        elif not is_inside:
            terms.append(text[place + 1 : end].strip())
            end = place
    return [text[:end].strip(), *reversed(terms)]


def parse_term(text: str) -> PartitionTerm:
    """Read one term.

    :raises ValueError: with the problem and the term.
    """
    call = _CALL.fullmatch(text)
    if call is None:
        return PartitionTerm("identity", _column(text, text))
    name = call[1].lower()
    transform = _TIMES.get(name, name)
    if transform in _PLAIN:
        return PartitionTerm(transform, _column(call[2], text))
    if transform not in _WITH_ARGUMENT:
        msg = f"unknown transform {call[1]!r} in {text!r}: use year, month, day, hour, bucket, truncate or a column"
        raise ValueError(msg)
    column, _, argument = call[2].rpartition(",")
    number = _number(argument)
    if not column or number is None:
        first, _, rest = (part.strip() for part in call[2].partition(","))
        is_turned = rest and "," not in rest and _number(first) is not None
        meant = f"{transform}({rest}, {first})" if is_turned else f"{transform}(column, 16)"
        msg = f"{text!r} needs a column and a positive number: {meant}"
        raise ValueError(msg)
    return PartitionTerm(transform, _column(column, text), number)


def _number(text: str) -> int | None:
    """Read a number of buckets or a width; None for what is none."""
    digits = text.strip()
    is_read = digits.isascii() and digits.isdigit() and len(digits) <= len(str(_MAX_ARGUMENT))
    return int(digits) if is_read and 1 <= int(digits) <= _MAX_ARGUMENT else None


def _column(column: str, term: str) -> str:
    name = column.strip()
    if not name or any(character in name for character in "(),") or any(not part for part in name.split(".")):
        msg = f"{term!r} names no column: write a column or transform(column)"
        raise ValueError(msg)
    return name


_DIRECTION = re.compile(r"\s(asc|desc)$", re.IGNORECASE)
_NULLS = re.compile(r"\snulls\s+(first|last)$", re.IGNORECASE)


@dataclass(frozen=True)
class SortTerm:
    """One sort field: ``transform`` of ``column``, with the number of buckets or the width as ``argument``.

    ``nulls_first`` is None if the text does not say; ``nulls_lead`` includes the default.
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
        """Say whether nulls are first. The default is that of Iceberg and Spark: first in ascending order."""
        return not self.descending if self.nulls_first is None else self.nulls_first


def parse_sort_by(text: str) -> tuple[SortTerm, ...]:
    """Read a list of ``term [asc|desc] [nulls first|nulls last]``; a text of blanks is no order.

    :raises ValueError: with the problem and the term.
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
