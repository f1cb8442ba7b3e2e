"""The keys under which columns have been found, where more than one key can mean a column."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator

import pyarrow as pa

from floe_job.convert.json.framing import NotExact, Text
from floe_job.schema.proposal import Path
from floe_job.types import StructLookup

MAX_KEY_ALIASES = 4

ESCAPED_KEY = re.compile(rb'[{,][ \t\r\n]*"[^"\\]*\\(?:[^"\\]|\\.)*"[ \t\r\n]*:', re.DOTALL)
_BLANKS_BEFORE_COLON = (b" :", b"\t:", b"\r:", b"\n:")


class Spellings:
    """Remembers, struct by struct, the keys of columns: until one is found, the first that is known beforehand.

    The parser gets only those, because each one has a cost. It must report any other key that it finds.
    """

    def __init__(self) -> None:
        self._met: dict[tuple[Path, str], tuple[str, ...]] = {}

    def keys(self, path: Path, lookup: StructLookup, name: str) -> tuple[str, ...]:
        """Return the keys that a column of the struct at ``path`` is to be read from."""
        return self._met.get((path, name)) or lookup.keys(name)[:1]

    def learn(self, path: Path, name: str, key: str) -> bool:
        """Add a key that was found for a column; return whether there was room."""
        met = self._met.get((path, name), ())
        if key in met:  # added before another field ended the last attempt
            return True
        if len(met) >= MAX_KEY_ALIASES:
            return False
        self._met[path, name] = (*met, key)
        return True


class Alternatives:
    """Checks that no record has two keys for one column: of two the last one counts, and columns have no order.

    Two values show in the columns. A value and a null do not, so where several keys of one column occur in a text, each
    of them must occur as often as it has values.
    """

    def __init__(self, groups: list[tuple[str, ...]]) -> None:
        """Take the keys of each column that has several."""
        self._groups = groups
        self._names = {key: json.dumps(key, ensure_ascii=False) for group in groups for key in group}

    def check(self, text: Text, carried: pa.StructArray) -> None:
        """Raise NotExact if some record may have two keys for one column."""
        if not self._groups:
            return
        if b"\\" in text and ESCAPED_KEY.search(text):
            raise NotExact
        values: Counter[str] = Counter()
        for name, count in _values(carried):
            values[name] += count
        # With blanks before a colon somewhere, strings that are no keys are counted too. At worst the exact path is used.
        colon = "" if any(blank in text for blank in _BLANKS_BEFORE_COLON) else ":"
        for group in self._groups:
            needles = {key: self._needle(key, colon) for key in group}
            occurring = [key for key in group if values[key] or needles[key] in text]
            if len(occurring) > 1 and any(text.count(needles[key]) != values[key] for key in occurring):
                raise NotExact

    def _needle(self, key: str, colon: str) -> bytes:
        quoted = self._names[key]
        if len(quoted) != len(key) + 2:
            raise NotExact  # its escapes can be written in several ways
        return f"{quoted}{colon}".encode()


def _values(array: pa.Array) -> Iterator[tuple[str, int]]:
    """Yield name and count of values of every field in a tree of structs and lists."""
    if pa.types.is_struct(array.type):
        for field in array.type:
            child = array.field(field.name)
            yield field.name, len(child) - child.null_count
            yield from _values(child)
    elif pa.types.is_list(array.type) and not pa.types.is_null(array.type.value_type):
        yield from _values(array.values)
