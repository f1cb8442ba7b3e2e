"""Expressions matched in a time that is linear in their size and in the values, for all expressions and values.

RE2 has no look-around. A backtracking engine takes exponential time for ``(a+)+`` and thirty letters. This one follows all
paths at once, through many values at once. For each state it keeps the reachable places of the text, as the bits of one
number. ``(?=…)`` and ``(?<=…)`` are automata of their own, followed backwards or forwards from all places; their result for
each place is a bit of a number, too. Back-references and atomic groups are not possible this way.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

from floe.config.expressions import cpython_internals

MAX_STATES = 10_000
"""States of an expression; counts are expanded, so ``(a{10}){10}`` has a hundred."""

_BATCH_CHARACTERS = 65_536

_START, _END, _BOUNDARY = "AT_BEGINNING_STRING", "AT_END_STRING", "AT_BOUNDARY"

Ranges = tuple[tuple[int, int], ...]


class TooLarge(ValueError):
    """An expression has more states than are followed."""


class _Characters(NamedTuple):
    """A class: these characters, or all others."""

    ranges: Ranges
    is_negated: bool

    def has(self, char: int) -> bool:
        return any(first <= char <= last for first, last in self.ranges) != self.is_negated


@dataclass(frozen=True)
class _Look:
    """An expression that must, or must not, match from a place on or up to it."""

    automaton: _Graph
    is_behind: bool
    is_negated: bool


class _Edge(NamedTuple):
    """An edge between two states: over one character, or in place; ``condition`` is None if there is none."""

    source: int
    target: int
    condition: _Characters | _Look | str | None = None

    @property
    def is_step(self) -> bool:
        return isinstance(self.condition, _Characters)


class _Graph:
    """The states of an expression, of which 0 is the last one; written from the end to the start."""

    def __init__(self, items: Iterable[tuple[Any, Any]]) -> None:
        self.after: list[list[_Edge]] = [[]]
        self.before: list[list[_Edge]] = [[]]
        self.first = self._sequence(items, 0)

    # -- writing ------------------------------------------------------------------------------------------------------

    def _state(self) -> int:
        self.after.append([])
        self.before.append([])
        return len(self.after) - 1

    def _way(self, edge: _Edge) -> int:
        self.after[edge.source].append(edge)
        self.before[edge.target].append(edge)
        return edge.source

    def _sequence(self, items: Iterable[tuple[Any, Any]], target: int) -> int:
        for op, of in reversed(list(items)):
            target = getattr(self, f"_{op.name.lower()}")(of, target)
        return target

    def _choice(self, targets: Iterable[int]) -> int:
        state = self._state()
        for target in targets:
            self._way(_Edge(state, target))
        return state

    def _literal(self, char: int, target: int) -> int:
        return self._way(_Edge(self._state(), target, _Characters(((char, char),), False)))

    def _not_literal(self, char: int, target: int) -> int:
        return self._way(_Edge(self._state(), target, _Characters(((char, char),), True)))

    def _any(self, _: None, target: int) -> int:
        return self._way(_Edge(self._state(), target, _Characters((), True)))

    def _in(self, members: list[tuple[Any, Any]], target: int) -> int:
        is_negated = members[0][0].name == "NEGATE"
        ranges = tuple(of if op.name == "RANGE" else (of, of) for op, of in members[is_negated:])
        return self._way(_Edge(self._state(), target, _Characters(ranges, is_negated)))

    def _branch(self, of: tuple[None, list[Any]], target: int) -> int:
        return self._choice([self._sequence(branch, target) for branch in of[1]])

    def _subpattern(self, of: tuple[int | None, int, int, Any], target: int) -> int:
        return self._sequence(of[3], target)

    def _max_repeat(self, of: tuple[int, int, Any], target: int) -> int:
        least, most, items = of
        if most == cpython_internals.MAX_REPEAT:
            start = self._choice([target])
            self._way(_Edge(start, self._sequence(items, start)))
        else:
            start = target
            for _ in range(most - least):
                start = self._choice([self._sequence(items, start), target])
        for _ in range(least):
            start = self._sequence(items, start)
        return start

    _min_repeat = _max_repeat

    def _at(self, place: Any, target: int) -> int:
        return self._way(_Edge(self._state(), target, place.name))

    def _assert(self, of: tuple[int, Any], target: int) -> int:
        return self._open(of, target, is_negated=False)

    def _assert_not(self, of: tuple[int, Any], target: int) -> int:
        return self._open(of, target, is_negated=True)

    def _failure(self, _: Any, target: int) -> int:
        return self._state()  # a state without edges

    def _open(self, of: tuple[int, Any], target: int, *, is_negated: bool) -> int:
        look = _Look(_Graph(of[1]), is_behind=of[0] < 0, is_negated=is_negated)
        return self._way(_Edge(self._state(), target, look))

    # -- following ----------------------------------------------------------------------------------------------------

    def ends(self, text: _Text, starts: int) -> int:
        """Return the places up to which it matches from some places on."""
        return self._follow(text, self.first, starts, 0)

    def starts(self, text: _Text, ends: int) -> int:
        """Return the places from which it matches up to some places."""
        return self._follow(text, 0, ends, self.first, backwards=True)

    def _follow(self, text: _Text, first: int, places: int, last: int, *, backwards: bool = False) -> int:
        reached = [0] * len(self.after)
        waiting = {first: places}
        while waiting:
            state = next(iter(waiting))
            new = waiting.pop(state) & ~reached[state]
            if not new:
                continue
            reached[state] |= new
            for edge in self.before[state] if backwards else self.after[state]:
                where = text.where(edge.condition)
                if backwards:
                    target, found = edge.source, (new >> 1 if edge.is_step else new) & where
                else:
                    target, found = edge.target, (new & where) << 1 if edge.is_step else new & where
                if found:
                    waiting[target] = waiting.get(target, 0) | found
        return reached[last]


class _Text:
    """Some values in a row, each with a place behind it, and where in them conditions hold."""

    def __init__(self, values: Sequence[str]) -> None:
        self._text = "\n".join((*values, ""))
        self._ends: list[int] = []
        for value in values:
            self._ends.append(self._ends[-1] + 1 + len(value) if self._ends else len(value))
        self._all = (1 << len(self._text)) - 1
        self.last = _bits(self._ends, len(self._text))
        self.first = (self.last << 1 | 1) & self._all
        self._known: dict[object, int] = {None: self._all, _START: self.first, _END: self.last}

    def where(self, condition: _Characters | _Look | str | None) -> int:
        """Return the places at which a condition holds: the next character's, or the place's own."""
        if condition not in self._known:
            self._known[condition] = self._find(condition)
        return self._known[condition]

    def has(self, places: int) -> list[bool]:
        """Return for each value whether its end is among the places."""
        bits = f"{places:b}"[::-1]
        return [end < len(bits) and bits[end] == "1" for end in self._ends]

    def _find(self, condition: _Characters | _Look | str | None) -> int:
        if isinstance(condition, _Characters):
            table = {ord(char): "1" if condition.has(ord(char)) else "0" for char in set(self._text)}
            return int(self._text.translate(table)[::-1], 2) & ~self.last
        if isinstance(condition, _Look):
            graph = condition.automaton
            found = graph.ends(self, self._all) if condition.is_behind else graph.starts(self, self._all)
            return self._all & ~found if condition.is_negated else found
        word = self.where(_WORD)
        return (word ^ word << 1) & self._all


_WORD = _Characters(((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)), False)


class Automaton:
    """An expression as ``floe.config.expressions.java_regex`` writes it."""

    def __init__(self, written: str) -> None:
        """Read an expression. Raises TooLarge."""
        tree = cpython_internals.parse(written, int(re.ASCII))
        _check_size(tree)
        self._graph = _Graph(tree)

    def matches(self, values: Iterable[str]) -> list[bool]:
        """Return for each value whether the expression matches all of it."""
        found: list[bool] = []
        for batch in _together(values):
            text = _Text(batch)
            found += text.has(self._graph.ends(text, text.first))
        return found


def check_size(written: str) -> None:
    """Check whether an expression can be followed, without the time to build its states. Raises TooLarge."""
    _check_size(cpython_internals.parse(written, int(re.ASCII)))


def _check_size(tree: Any) -> None:
    if _states(tree) > MAX_STATES:
        msg = f"written out, its counts make more than {MAX_STATES} parts of it: choose smaller ones"
        raise TooLarge(msg)


def _states(items: Iterable[tuple[Any, Any]]) -> int:
    return sum(_states_of(op.name, of) for op, of in items)


def _states_of(name: str, of: Any) -> int:
    match name:
        case "BRANCH":
            return 1 + sum(map(_states, of[1]))
        case "SUBPATTERN":
            return _states(of[3])
        case "ASSERT" | "ASSERT_NOT":
            return 2 + _states(of[1])
        case "MAX_REPEAT" | "MIN_REPEAT":
            least, most, inner = of
            written_out = least + 1 if most == cpython_internals.MAX_REPEAT else most
            return int(written_out) * (1 + _states(inner))
    return 1


def _together(values: Iterable[str]) -> Iterator[list[str]]:
    """Divide values into lists of a bounded length."""
    batch: list[str] = []
    length = 0
    for value in values:
        batch.append(value)
        length += len(value) + 1
        if length >= _BATCH_CHARACTERS:
            yield batch
            batch, length = [], 0
    if batch:
        yield batch


def _bits(places: Iterable[int], length: int) -> int:
    digits = bytearray(b"0" * length)
    for place in places:
        digits[place] = 0x31
    return int(bytes(digits[::-1]) or b"0", 2)


# Sets of characters, as ranges of code points, written for Python.


Spans = list[tuple[int, int]]
"""Characters, first and last."""


class Different(Exception):
    """Java reads the expression differently, or not at all."""


_CATEGORIES: dict[str, Spans] = {
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


def ranges(op: Any, of: Any) -> Spans:
    """Return the characters of a class's member."""
    if op.name == "NEGATE":
        return []
    if op.name != "CATEGORY":
        return [of if op.name == "RANGE" else (of, of)]
    *negation, name = of.name.removeprefix("CATEGORY_").split("_")
    return complement(_CATEGORIES[name]) if negation else _CATEGORIES[name]


def complement(ranges: Spans) -> Spans:
    edges = [-1, *(edge for one in ranges for edge in one), sys.maxunicode + 1]
    return [(last + 1, first - 1) for last, first in zip(edges[::2], edges[1::2], strict=True) if last + 1 < first]


def merged(ranges: Spans) -> Spans:
    """Return the same characters in order, without overlaps."""
    merged: Spans = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def other_case(ranges: Spans) -> Spans:
    """Return the ASCII letters of some characters in the other case."""
    dead_letters = [(max(first, a), min(last, a + 25), a) for first, last in ranges for a in (0x41, 0x61)]
    return [(first ^ 0x20, last ^ 0x20) for first, last, _ in dead_letters if first <= last]


def text(char: int) -> str:
    if 0xD800 <= char <= 0xDFFF:
        reject(f"\\u{char:x} is a half of a character: write the character itself")
    return chr(char) if char > 0x7F or chr(char).isalnum() else f"\\x{char:02x}"


def reject(why: str) -> NoReturn:
    raise Different(why)
