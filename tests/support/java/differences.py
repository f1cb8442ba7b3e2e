"""Where rows differ from the sink's, as docs/reference/conversion.md says it, and as they do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.support.java.sink import Rows
from tests.support.repository import DOCS

_PAGE = (DOCS / "reference" / "conversion.md").read_text(encoding="utf-8")
_WORDS = ("rejects", "takes", "writes")


def differences(sink: Rows, floe: Rows) -> dict[int, str]:
    """Return by place what floe does otherwise: rejects what the sink writes, takes what it fails on, or writes another."""
    found = dict.fromkeys(sink.rows.keys() - floe.rows.keys(), "rejects")
    found |= dict.fromkeys(floe.rows.keys() - sink.rows.keys(), "takes")
    both = sink.rows.keys() & floe.rows.keys()
    return found | {place: "writes" for place in both if sink.rows[place] != floe.rows[place]}


def documented_type(source: str) -> str:
    """Return the name that a type has in the documentation."""
    return {"BYTES `…Decimal` of 10 digits": "BYTES `…Decimal`", "STRUCT of all": "STRUCT"}.get(source, source)


def _documented() -> Iterator[tuple[tuple[str, str], set[str]]]:
    table = _PAGE.partition("All else becomes what the sink makes of it, but for this:\n\n")[2].partition("\n\n")[0]
    for line in table.splitlines()[2:]:
        types, columns, _, floe = (cell.strip() for cell in line.split("|")[1:5])
        words = {word for word in _WORDS if f"**{word}**" in floe}
        names = [f"Avro {name}" if name[0] == "`" else name for name in re.split(", ", types)]
        if words:
            yield from (((name, column), words) for name in names for column in columns.split(", "))


DOCUMENTED: dict[tuple[str, str], set[str]] = dict(_documented())
"""What floe does otherwise, by Connect's type and the column's."""
