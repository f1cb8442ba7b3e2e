"""Sets of characters, as ranges of code points, written for Python."""

import sys
from functools import lru_cache
from typing import Any, NoReturn

Ranges = list[tuple[int, int]]
"""Characters, first and last."""


class Different(Exception):
    """Java reads the expression differently, or not at all."""


_CATEGORIES: dict[str, Ranges] = {
    "DIGIT": [(0x30, 0x39)],
    "SPACE": [(0x09, 0x0D), (0x20, 0x20)],
    "WORD": [(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)],
}


@lru_cache(2000)
def class_of(given: tuple[tuple[int, int], ...], negation: str, ignores_case: bool) -> str:
    """Write a class of these characters."""
    ranges = list(given)
    if ignores_case:
        ranges += other_case(ranges)
    if not negation and all(first == last for first, last in ranges):
        chars = sorted({char for char, _ in ranges})
        if len(chars) == 1 or (len(chars) == 2 and chars[0] ^ chars[1] == 0x20):
            # no [Ss]: RE2 reads it as (?i:s), which may later match U+017F too
            return f"(?:{'|'.join(map(text, chars))})" if len(chars) == 2 else text(chars[0])
    if not negation and any(last == sys.maxunicode for _, last in ranges):
        # compiling a class up to the last character takes milliseconds, compiling its complement does not
        ranges, negation = complement(merged(ranges)), "^"
        if not ranges:
            return "(?s:.)"
    return f"[{negation}{''.join(f'{text(first)}-{text(last)}' for first, last in ranges)}]"


def ranges(op: Any, of: Any) -> Ranges:
    """Return the characters of a class's member."""
    if op.name == "NEGATE":
        return []
    if op.name != "CATEGORY":
        return [of if op.name == "RANGE" else (of, of)]
    *negation, name = of.name.removeprefix("CATEGORY_").split("_")
    return complement(_CATEGORIES[name]) if negation else _CATEGORIES[name]


def complement(ranges: Ranges) -> Ranges:
    edges = [-1, *(edge for one in ranges for edge in one), sys.maxunicode + 1]
    return [(last + 1, first - 1) for last, first in zip(edges[::2], edges[1::2], strict=True) if last + 1 < first]


def merged(ranges: Ranges) -> Ranges:
    """Return the same characters in order, without overlaps."""
    merged: Ranges = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def other_case(ranges: Ranges) -> Ranges:
    """Return the ASCII letters of some characters in the other case."""
    dead_letters = [(max(first, a), min(last, a + 25), a) for first, last in ranges for a in (0x41, 0x61)]
    return [(first ^ 0x20, last ^ 0x20) for first, last, _ in dead_letters if first <= last]


def text(char: int) -> str:
    if 0xD800 <= char <= 0xDFFF:
        reject(f"\\u{char:x} is a half of a character: write the character itself")
    return chr(char) if char > 0x7F or chr(char).isalnum() else f"\\x{char:02x}"


def reject(why: str) -> NoReturn:
    raise Different(why)
