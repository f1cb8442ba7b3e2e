"""Expressions that are made at random, against java.util.regex: the same values match, or the expression is refused."""

from __future__ import annotations

from random import Random

from floe.config.expressions.java_regex import compile_expression
from stack.services.broker import KAFKA
from tests.support.java.program import java_program

PACKAGES = (f"org.apache.kafka:connect-json:{KAFKA}", "org.slf4j:slf4j-nop:2.0.17")
PATTERNS, VALUES, SEED = 4_000, 25, 21
LETTERS = "abAB1.-_+"
ATOMS = (*"abAB1", ".", r"\.", r"\d", r"\w", "[ab]", "[^a]", "[a-b1]", r"\+", "-", r"[\Q.-\E]")
COUNTS = ("", "", "", "", "*", "+", "?", "{2}", "{1,2}", "{1,}", "{0,3}")
ENDINGS = ("", "", "?", "+", "+")
OPENINGS = ("(", "(?:", "(?<g{}>", "(?>", "(?i:", "(?=", "(?!", "(?<!")


class Expressions:
    """Makes expressions with what Java has: quotes, possessive counts, names of groups, atomic groups, look-around."""

    def __init__(self, random: Random) -> None:
        self._random, self._groups = random, 0

    def one(self, depth: int = 2) -> str:
        branches = self._random.choice((1, 1, 1, 2))
        return "|".join(self._sequence(depth) for _ in range(branches))

    def _sequence(self, depth: int) -> str:
        return "".join(self._part(depth) for _ in range(self._random.randint(1, 3)))

    def _part(self, depth: int) -> str:
        kind = self._random.random()
        if kind < 0.15:
            quoted = "".join(self._random.choices(LETTERS, k=self._random.randint(0, 3)))
            return rf"\Q{quoted}\E" + self._count()
        if kind < 0.45 and depth:
            opening = self._random.choice(OPENINGS)
            self._groups += 1
            is_look = opening in ("(?=", "(?!", "(?<!")
            inner = self._random.choice(ATOMS) if opening == "(?<!" else self.one(depth - 1)
            return f"{opening.format(self._groups)}{inner})" + ("" if is_look else self._count())
        return self._random.choice(ATOMS) + self._count()

    def _count(self) -> str:
        count = self._random.choice(COUNTS)
        return count + self._random.choice(ENDINGS) if count else ""


def test_expression_matches_as_in_java_or_is_refused() -> None:
    random = Random(SEED)
    with java_program("RegexCheck", PACKAGES) as ask:
        taken = possessive = matched = 0
        for _ in range(PATTERNS):
            pattern = Expressions(random).one()
            values = ["".join(random.choices(LETTERS, k=random.randint(0, 5))) for _ in range(VALUES)]
            answer = ask({"pattern": pattern, "values": values})
            try:
                ours = compile_expression(pattern).matches(values)
            except ValueError:
                continue
            assert "error" not in answer, (pattern, answer)
            differing = [v for v, here, there in zip(values, ours, answer["matches"], strict=True) if here != there]
            assert not differing, (pattern, differing)
            taken, matched = taken + 1, matched + sum(ours)
            possessive += any(count in pattern for count in ("*+", "++", "?+", "}+", "(?>"))
        assert (taken > PATTERNS // 2, possessive > PATTERNS // 10, matched > PATTERNS) == (True, True, True)
