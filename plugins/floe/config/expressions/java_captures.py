r"""Regular expressions whose groups are asked for: written for Java, matched by RE2 alone, which has no look-around."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from floe.config.expressions import cpython_internals
from floe.config.expressions.char_classes import reject
from floe.config.expressions.java_regex import Writer, check_expanded, is_plain, parsed_tree, rewritten
from floe.config.expressions.java_syntax import for_python

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
