"""``iceberg.tables.default-partition-by``: the sink's grammar of partition transforms."""

import re
from dataclasses import dataclass

_COMMA_OR_PARENTHESIS = re.compile(r"[,()]")
_CALL = re.compile(r"(\w+)\s*\((.+)\)", re.DOTALL)
_TIMES = {"years": "year", "months": "month", "days": "day", "hours": "hour"}
_PLAIN = {"identity", "year", "month", "day", "hour"}
_WITH_ARGUMENT = {"bucket", "truncate"}
_LARGEST_ARGUMENT = 2**31 - 1
_MOST_CHARACTERS = 4000


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
        """What may stand in a spec once: Iceberg refuses two time transforms of one column as redundant."""
        return ("time" if self.transform in _TIMES.values() else self.transform, self.column)


def parse_partition_by(text: str) -> tuple[PartitionTerm, ...]:
    """Read a list of terms; a text of blanks is no partitioning.

    :raises ValueError: with what is wrong, and the term.
    """
    terms = tuple(parse_term(part) for part in split_terms(text))
    first: dict[tuple[str, str], PartitionTerm] = {}
    for term in terms:
        if (earlier := first.setdefault(term.source, term)) is not term:
            msg = f"{str(term)!r} repeats {str(earlier)!r}: one of them is enough"
            raise ValueError(msg)
    return terms


def split_terms(text: str) -> list[str]:
    """Part a list at the commas outside parentheses; blanks around terms are cut, a text of blanks has none.

    As for the sink, a comma is inside if the next parenthesis behind it closes one.

    :raises ValueError: when the text is too long.
    """
    if not text.strip():
        return []
    if len(text) > _MOST_CHARACTERS:
        msg = f"{len(text)} characters are too many: write at most {_MOST_CHARACTERS}"
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

    :raises ValueError: with what is wrong, and the term.
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
    column, comma, argument = call[2].rpartition(",")
    number = argument.strip()
    digits = number.isascii() and number.isdigit() and len(number) <= len(str(_LARGEST_ARGUMENT))
    if not comma or not digits or not 1 <= int(number) <= _LARGEST_ARGUMENT:
        msg = f"{text!r} needs a column and a positive number: {transform}(column, 16)"
        raise ValueError(msg)
    return PartitionTerm(transform, _column(column, text), int(number))


def _column(column: str, term: str) -> str:
    name = column.strip()
    if not name or any(character in name for character in "(),") or any(not part for part in name.split(".")):
        msg = f"{term!r} names no column: write a column or transform(column)"
        raise ValueError(msg)
    return name
