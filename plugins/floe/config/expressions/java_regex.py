r"""Regular expressions of a connector: written for Java, read by Python's parser, matched by RE2 or by ``automaton``.

The three agree on little more than characters, ranges, groups and counts: ``\s``, ``.``, ``$`` and the small letters of
``(?i)`` are other characters in each. So an expression is rewritten, with Java's meaning, in a syntax that Python's parser
and RE2 read alike. Look-around, which RE2 does not have, is written so that RE2 refuses it. Refused here are expressions that
Java reads differently, and those that need an engine with exponential time: back-references, and counts that give nothing
back, ``(ab|c)*+`` or ``(?>…)``, of more than a character. Of one character, ``a*+`` is ``a*(?!a)``.
"""

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from floe.config.expressions import cpython_internals
from floe.config.expressions.automaton import Automaton, check_size
from floe.config.expressions.char_classes import Different, class_of, ranges, reject, text
from floe.config.expressions.java_syntax import for_python

_MAX_CHARACTERS = 4000

_PLAIN = re.compile(rf"[A-Za-z0-9_/ -]{{0,{_MAX_CHARACTERS}}}")
_SIMPLE = re.compile(r"(?:(?:[A-Za-z0-9_/ .-]|\\[./-])[*+?]?|\|)*")
"""Expressions that all engines read alike: plain words with ``.``, counts behind single characters, and choices."""
_ESCAPE = re.compile(r"\\(?:0|[1-7][0-7]{2}|.)", re.DOTALL)
_PART = re.compile(
    r"\(\?#[^)]*\)|\[\^?\]?(?:\\.|[^\]\\])*\]|\\N\{[^}]*\}|\{[0-9]+(?:,[0-9]*)?\}|" + _ESCAPE.pattern + "|.", re.DOTALL
)
"""A comment, a class, a character's name, a count, an escape, a character."""

_IGNORECASE, _DOTALL, _MULTILINE_OR_VERBOSE = int(re.IGNORECASE), int(re.DOTALL), int(re.MULTILINE | re.VERBOSE)
"""As numbers: testing a ``RegexFlag`` takes twenty times as long."""


_INSTEAD = (
    (re.compile(r"\\[pP]"), "name the characters, as in [A-Za-z]"),
    (re.compile(r"\\k"), "write out what the group matches"),
    (re.compile(r"\(\?<[A-Za-z]"), "write (…): names of groups are not used"),
    (re.compile(r"\\z"), "leave it out, an expression has to match as a whole"),
    (
        re.compile(r"&&|\[[^\]]*\["),
        r"write \[ or \& for the character, and the characters themselves for a class of two",
    ),
)
"""Replacements for syntax that Java has and Python does not."""

_ONE_CHARACTER = ("LITERAL", "NOT_LITERAL", "ANY", "IN")
_GIVES_NOTHING_BACK = (
    "gives nothing back of what it took, and here that can be said of one character only, as in a*+. If what follows cannot "
    "begin with what it takes, it only saves time in Java"
)


_ANY = "[^\\x0a-\\x0a\\x0d-\\x0d\x85-\x85\u2028-\u2029]"
"""``.`` of Java."""

_END = r"(?:(?=(?:\r\n|[\r\x85\u2028\u2029])?\Z)|(?<!\r)(?=\n\Z))"
"""``$`` of Java: the end, or before the last line end, of which ``\r\n`` is one."""


@dataclass(frozen=True)
class Expression:
    """An expression that must match a whole value. ``pattern``: as RE2 reads it, or refuses it."""

    pattern: str

    def matches(self, values: Iterable[str]) -> list[bool]:
        """Return for each value whether it matches, in a time that is linear in the values."""
        return self._automaton.matches(values)

    def fullmatch(self, value: str) -> bool:
        """Say whether one value matches; use ``matches`` for many."""
        return self.matches((value,))[0]

    @cached_property
    def _automaton(self) -> Automaton:
        return Automaton(self.pattern)


def compile_expression(text: str) -> Expression:
    r"""Compile an expression.

    ``\d``, ``\w``, ``\s``, ``\b`` and ``(?i)`` know ASCII only, as in Java. What Java reads and Python does not
    (``\p{…}``), and what they read differently (``[a&&b]``, ``[a[b]]``, ``a{,2}``), is
    refused.

    :raises ValueError: with the problem and the expression.
    """
    written = rewritten(text)
    check_expanded(text, written)
    return Expression(written)


def check_expression(text: str) -> None:
    """Check whether ``compile_expression`` accepts an expression, without the time of compiling.

    :raises ValueError: as there.
    """
    if len(text) > _MAX_CHARACTERS or _SIMPLE.fullmatch(text) is None:
        check_expanded(text, rewritten(text))


def check_expanded(text: str, written: str) -> None:
    """Refuse an expression whose counts make it too large; without counts it is as large as its text."""
    if "{" in text:
        try:
            check_size(written)
        except (ValueError, re.error, OverflowError, RecursionError) as error:
            raise _unusable(text, str(error)) from None


def is_plain(text: str) -> bool:
    """Whether an expression consists only of characters that all engines read literally."""
    return _PLAIN.fullmatch(text) is not None


def rewritten(text: str, writer: "type[Writer] | None" = None, *, is_whole: bool = True) -> str:
    """Rewrite an expression with Java's meaning, as Python reads it. Raises ValueError.

    ``is_whole``: it has to match a whole value.
    """
    if is_plain(text):
        return text
    if len(text) > _MAX_CHARACTERS:
        msg = f"an expression of {len(text)} characters is too long: write at most {_MAX_CHARACTERS}"
        raise ValueError(msg)
    plain = for_python(text)
    try:
        tree = parsed_tree(plain)
        different = next(_differences(plain), None)
        if different is None:
            return (writer or Writer)(tree.state.flags).sequence(tree, is_last=is_whole)
    except Different as error:
        different = str(error)
    except (re.error, ValueError, OverflowError, RecursionError, Warning) as error:
        instead = next((advice for of_java, advice in _INSTEAD if of_java.search(plain)), "write it in Python's syntax")
        different = f"{error}; {instead}"
    raise _unusable(text, different)


def parsed_tree(text: str) -> Any:
    """Parse an expression. A warning is an error: it is about sets that a later Python, and Java, read differently."""
    if "[" not in text:
        return cpython_internals.parse(text, int(re.ASCII))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return cpython_internals.parse(text, int(re.ASCII))


def _unusable(text: str, different: str) -> ValueError:
    return ValueError(f"{text[:200]!r} is no regular expression that floe can use: {different}")


def _differences(text: str) -> Iterator[str]:
    """Yield what Java reads differently in an expression that Python can read, if the tree does not show it."""
    for part in _PART.findall(text):
        if part == "{":
            yield r"Java takes '{' for a count: write {n}, {n,} or {n,m}, or \{ for the character"
        if part[0] not in "[\\":
            continue
        bare = _ESCAPE.sub(" ", part[1:])
        if part[0] == "[" and ("[" in bare or "&&" in bare):
            yield r"Java takes '[' and '&&' in a class for more classes: write \[ or \& for the character"
        for escape in _ESCAPE.findall(part):
            if escape[1] in "vz0" or len(escape) > 2:
                yield rf"{escape!r} means something else in Java: write the character, or \xhh"


class Writer:
    """Rewrites a tree. ``flags``: those at the place; ``is_last``: nothing can follow before the end of the value."""

    def __init__(self, flags: int) -> None:
        if flags & _MULTILINE_OR_VERBOSE:
            reject("(?m) and (?x) mean something else in Java: do without")
        self._flags = flags

    def sequence(self, items: Iterable[tuple[Any, Any]], *, is_last: bool = False) -> str:
        parts = list(items)
        return "".join(self._part(op.name, of, is_last and i == len(parts)) for i, (op, of) in enumerate(parts, 1))

    def _part(self, name: str, of: Any, is_last: bool) -> str:
        write = getattr(self, f"_{name.lower()}", None)
        if write is None:
            reject(f"Java has no such construct ({name.lower()})")
        return str(write(of, is_last))

    # -- characters ---------------------------------------------------------------------------------------------------

    def _literal(self, char: int, _: bool) -> str:
        if not self._flags & _IGNORECASE:
            return text(char)
        return self._one_of(((char, char),))

    def _not_literal(self, char: int, _: bool) -> str:
        return self._one_of(((char, char),), "^")

    def _any(self, _: None, __: bool) -> str:
        return "(?s:.)" if self._flags & _DOTALL else _ANY

    def _in(self, members: list[tuple[Any, Any]], _: bool) -> str:
        is_negated = members[0][0].name == "NEGATE"
        return self._one_of(tuple(one for member in members for one in ranges(*member)), "^" if is_negated else "")

    def _one_of(self, ranges: tuple[tuple[int, int], ...], negation: str = "") -> str:
        return class_of(ranges, negation, bool(self._flags & _IGNORECASE))

    # -- groups -------------------------------------------------------------------------------------------------------

    def _branch(self, of: tuple[None, list[Any]], is_last: bool) -> str:
        return f"(?:{'|'.join(self.sequence(branch, is_last=is_last) for branch in of[1])})"

    def _subpattern(self, of: tuple[int | None, int, int, Any], is_last: bool) -> str:
        group, added, removed, items = of
        inner = type(self)((self._flags | added) & ~removed).sequence(items, is_last=is_last)
        return f"({self._named(group)}{inner})" if group is not None else f"(?:{inner})"

    def _named(self, group: int) -> str:
        return ""

    def _groupref(self, group: int, _: bool) -> str:
        reject(rf"to match \{group} can take ages, and here the time of a match is bounded: write out what it repeats")

    def _atomic_group(self, items: Any, is_last: bool) -> str:
        parts = list(items)
        if all(op.name in _ONE_CHARACTER for op, _ in parts):
            return f"(?:{self.sequence(parts)})"
        if len(parts) == 1 and parts[0][0].name in ("MAX_REPEAT", "POSSESSIVE_REPEAT"):
            return self._possessive_repeat(parts[0][1], is_last)
        reject(f"(?>…) {_GIVES_NOTHING_BACK}: write (?:…)")

    def _assert(self, of: tuple[int, Any], _: bool) -> str:
        _check_width(*of)
        return f"(?{'<' if of[0] < 0 else ''}={self.sequence(of[1])})"

    def _assert_not(self, of: tuple[int, Any], _: bool) -> str:
        _check_width(*of)
        return f"(?{'<' if of[0] < 0 else ''}!{self.sequence(of[1])})"

    def _failure(self, _: Any, __: bool) -> str:
        return "(?!)"

    # -- counts -------------------------------------------------------------------------------------------------------

    def _max_repeat(self, of: tuple[int, int, Any], is_last: bool) -> str:
        return self._repeat(of, "", is_last)

    def _min_repeat(self, of: tuple[int, int, Any], is_last: bool) -> str:
        return self._repeat(of, "?", is_last)

    def _possessive_repeat(self, of: tuple[int, int, Any], is_last: bool) -> str:
        least, most, items = of
        one = _single(items)
        if one is None:
            reject(f"a count with + behind it {_GIVES_NOTHING_BACK}: leave the + out")
        if is_last or least == most:
            return self._repeat(of, "", is_last)
        char = self.sequence([one])
        if most == cpython_internals.MAX_REPEAT:
            return f"(?:{char}){{{least},}}(?!{char})"
        return f"(?:(?:{char}){{{least},{most - 1}}}(?!{char})|(?:{char}){{{most},{most}}})"

    def _repeat(self, of: tuple[int, int, Any], how: str, is_last: bool) -> str:
        least, most, items = of
        inner = self.sequence(items, is_last=is_last and most == 1)
        return f"(?:{inner}){{{least},{'' if most == cpython_internals.MAX_REPEAT else most}}}{how}"

    # -- places -------------------------------------------------------------------------------------------------------

    def _at(self, place: Any, is_last: bool) -> str:
        if place.name in ("AT_END", "AT_END_STRING"):
            return "" if is_last else _END
        # Python before 3.14 has no \B in an empty value
        return {"AT_BOUNDARY": r"\b", "AT_NON_BOUNDARY": r"(?!\b)"}.get(place.name, r"\A")


def _single(items: Any) -> Any:
    """Return the only item if it is one character, also in a group; else None."""
    parts = list(items)
    while len(parts) == 1 and parts[0][0].name == "SUBPATTERN":
        _, added, removed, inner = parts[0][1]
        if added or removed:
            return None
        parts = list(inner)
    return parts[0] if len(parts) == 1 and parts[0][0].name in _ONE_CHARACTER else None


def _check_width(direction: int, items: Any) -> None:
    if direction < 0 and len(set(items.getwidth())) > 1:
        reject("look-behind requires fixed-width pattern; write it in Python's syntax")
