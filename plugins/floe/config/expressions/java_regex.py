r"""Regular expressions of a connector: written for Java, read by Python's parser, matched by RE2 or by ``automaton``.

The three agree on little more than characters, ranges, groups and counts: ``\s``, ``.``, ``$`` and the small letters of
``(?i)`` are other characters in each. So an expression is rewritten, with Java's meaning, in a syntax that Python's parser
and RE2 read alike. Look-around, which RE2 does not have, is written so that RE2 refuses it. Refused here are expressions that
Java reads differently, and those that need an engine with exponential time: back-references, and counts that give nothing
back, ``(ab|c)*+`` or ``(?>…)``, of more than a character. Of one character, ``a*+`` is ``a*(?!a)``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from floe.config.expressions import cpython_internals
from floe.config.expressions.automaton import Automaton, Different, check_size, class_of, ranges, reject, text

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


def rewritten(text: str, writer: type[Writer] | None = None, *, is_whole: bool = True) -> str:
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


# Regular expressions whose groups are asked for: written for Java, matched by RE2 alone, which has no look-around.


MAX_COUNT: Final = 1000
"""RE2 counts no further."""


@dataclass(frozen=True)
class Captures:
    r"""An expression whose groups are asked for. ``names``: of groups, with their numbers.

    ``pattern``: as RE2 reads it; the i-th group is named ``g<i>``. ``$`` and ``\\Z`` are the very end: of a value with a line
    end this is another place in Java.
    """

    pattern: str
    names: Mapping[str, int]
    groups: int


def compile_captures(text: str) -> Captures:
    """Compile an expression whose groups are asked for.

    :raises ValueError: with the problem and the expression. Look-around is refused, as RE2 does not have it.
    """
    if is_plain(text):
        return Captures(text, {}, 0)
    written = rewritten(text, _CaptureWriter, is_whole=False)
    check_expanded(text, written)
    state = parsed_tree(for_python(text)).state
    return Captures(written, dict(state.groupdict), state.groups - 1)


class _CaptureWriter(Writer):
    """Rewrites a tree for RE2 alone, with names of all groups."""

    def _named(self, group: int) -> str:
        return f"?P<g{group}>"

    def _assert(self, of: tuple[int, Any], _: bool) -> str:
        reject("look-ahead and look-behind cannot be used where groups are asked for: write it without")

    _assert_not = _assert

    def _possessive_repeat(self, of: tuple[int, int, Any], is_last: bool) -> str:
        least, most, _ = of
        if least != most:
            reject("a count with + behind it cannot be used where groups are asked for: leave the + out")
        return self._repeat(of, "", is_last)

    def _repeat(self, of: tuple[int, int, Any], how: str, is_last: bool) -> str:
        if of[0] > MAX_COUNT or MAX_COUNT < of[1] < cpython_internals.MAX_REPEAT:
            reject(f"a count of more than {MAX_COUNT} cannot be used where groups are asked for: write a smaller one")
        if of[1] > 1 and not of[2].getwidth()[0]:
            reject("a count of what may be empty, as in (a*)*, has other groups in Java: leave one of the counts out")
        return super()._repeat(of, how, is_last)

    def _at(self, place: Any, is_last: bool) -> str:
        if place.name == "AT_NON_BOUNDARY":
            reject(r"\B cannot be used where groups are asked for: write it without")
        return r"\z" if place.name in ("AT_END", "AT_END_STRING") else super()._at(place, is_last)


# Syntax that Java has and Python does not, written for Python's parser: ``\Q…\E`` and ``(?<name>…)``.


_CLASS: Final = r"\[\^?\]?(?:\\.|[^\]\\])*\]"
_NAMED: Final = re.compile(rf"{_CLASS}|\\.|\(\?<(?=[A-Za-z][A-Za-z0-9]*>)|.", re.DOTALL)


def for_python(text: str) -> str:
    """Write an expression without Java's quotes, and with Python's names of groups."""
    if "\\Q" in text:
        text = _unquoted(text)
    return _NAMED.sub(_with_name, text) if "(?<" in text else text


def _with_name(part: re.Match[str]) -> str:
    return "(?P<" if part[0] == "(?<" else part[0]


def _unquoted(text: str) -> str:
    r"""Write what is in quotes as escapes. Java looks for them before all else, in classes too; the last may be open."""
    made: list[str] = []
    at = 0
    while at < len(text):
        if text[at] != "\\":
            made.append(text[at])
            at += 1
        elif text[at : at + 2] != "\\Q":
            made.append(text[at : at + 2])
            at += 2
        else:
            end = text.find("\\E", at + 2)
            quoted = text[at + 2 :] if end < 0 else text[at + 2 : end]
            made += [_escaped(char, is_first=i == 0) for i, char in enumerate(quoted)]
            at = len(text) if end < 0 else end + 2
    return "".join(made)


def _escaped(char: str, *, is_first: bool) -> str:
    is_plain = not char.isascii() or char.isalpha() or (char.isdigit() and not is_first)
    return char if is_plain else f"\\x{ord(char):02x}"


# Replacements as Java's ``Matcher.replaceFirst`` reads them: ``$1``, ``${name}``, and ``\`` before a character.


MAX_CHARACTERS: Final = 1000
_NAME: Final = re.compile(r"\{([A-Za-z][A-Za-z0-9]*)\}")
_DIGITS: Final = "0123456789"

Part = str | int
"""A text, or the number of a group."""


def split_replacement(text: str, names: Mapping[str, int], groups: int) -> tuple[Part, ...]:
    """Return the parts of a replacement. ``names``: of groups, with their numbers; ``groups``: how many there are.

    Raises ValueError for one that Java refuses.
    """
    if len(text) > MAX_CHARACTERS:
        problem = f"it has {len(text)} characters: write at most {MAX_CHARACTERS}"
        raise ValueError(problem)
    parts: list[Part] = []
    at = 0
    while at < len(text):
        if text[at] == "\\":
            if at + 1 == len(text):
                problem = r"there is nothing behind the backslash at its end: write \\ for a backslash"
                raise ValueError(problem)
            parts.append(text[at + 1])
            at += 2
        elif text[at] == "$":
            group, at = _group(text, at + 1, names, groups)
            parts.append(group)
        else:
            parts.append(text[at])
            at += 1
    return tuple(parts)


def check_replacement(text: str, names: Mapping[str, int], groups: int) -> None:
    """Check a replacement. Raises ValueError as ``split_replacement`` does."""
    split_replacement(text, names, groups)


def _group(text: str, at: int, names: Mapping[str, int], groups: int) -> tuple[int, int]:
    """Return the number of the group that is named at a place, and where its name ends."""
    named = _NAME.match(text, at)
    if named is not None:
        if named[1] not in names:
            problem = f"the expression has no group named {named[1][:40]!r}"
            raise ValueError(problem)
        return names[named[1]], named.end()
    if text[at : at + 1] not in tuple(_DIGITS):
        problem = r"behind $ has to be the number of a group or its name in {…}: write \$ for the character"
        raise ValueError(problem)
    group = int(text[at])
    if group > groups:
        problem = f"the expression has no group {group}, it has {groups}"
        raise ValueError(problem)
    at += 1
    while at < len(text) and text[at] in _DIGITS and group * 10 + int(text[at]) <= groups:
        group, at = group * 10 + int(text[at]), at + 1
    return group, at


def replaced(parts: Sequence[Part], found: Sequence[str | None]) -> str:
    """Write a replacement with what the groups matched; a group that matched nothing is left out."""
    return "".join(part if isinstance(part, str) else found[part] or "" for part in parts)
