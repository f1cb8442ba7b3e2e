"""Expressions of tables: what a run matches is what the connector file was checked for, whatever the engine."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floe.config.expressions.java_regex import compile_expression
from floe_job.routing.destinations import matcher

CHARACTERS = "akKsS\u212a\u017fÉé1_ -]^{.\\\0\t\n\x0b\x0c\r\x1c\x85\u2028\U0001f600"
DOT = "[^\n\r\x85\u2028\u2029]"
"""As Java reads it."""

values = st.lists(st.text(CHARACTERS, max_size=6), min_size=1, max_size=30)


def escaped(char: str) -> str:
    return re.escape(char) if char not in "\0\t\n\x0b\x0c\r" else f"\\x{ord(char):02x}"


def grown(inner: st.SearchStrategy[tuple[str, str]]) -> st.SearchStrategy[tuple[str, str]]:
    """Make larger expressions of some: each as the user writes it and as Python is to read it."""

    def joined(form: str, *parts: tuple[str, str]) -> tuple[str, str]:
        return form.format(*(text for text, _ in parts)), form.replace(".", DOT).format(*(text for _, text in parts))

    forms = ["({0})", "(?:{0})?", "(?:{0})*", "(?:{0})+?", "(?:{0}){{2}}", "(?:{0}){{0,2}}", "(?:{0}){{1,}}"]
    forms += ["(?i:{0})", "(?-i:{0})", "(?={0}){0}", "(?!{0})\\S*", "(?<!a){0}", "(?:(?!{0}).)*"]
    forms += ["(?=.*(?:{0})).*", "(?<=\\b.){0}", "(?:{0}(?=\\S))*.?", "(?!(?={0}).+).*"]
    return st.one_of(
        st.builds(joined, st.sampled_from(forms), inner),
        st.builds(joined, st.sampled_from(["{0}{1}", "{0}|{1}", "(?:{0}|{1})*"]), inner, inner),
    )


members = st.one_of(
    st.sampled_from([r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", "a-z", "A-s", r"\x00-\x20", "É-\u212a"]),
    st.sampled_from(CHARACTERS).map(escaped),
)
classes = st.builds("[{}{}]".format, st.sampled_from(["", "^"]), st.lists(members, min_size=1).map("".join))
same = st.one_of(
    st.sampled_from([r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\b", "^", r"\A", "", "(?s:.)", "k", "s"]),
    st.sampled_from(CHARACTERS).map(escaped),
    classes,
)
expressions = st.tuples(
    st.sampled_from(["", "(?i)"]),
    st.recursive(st.one_of(same.map(lambda text: (text, text)), st.just((".", DOT))), grown, max_leaves=8),
)


@pytest.mark.parametrize(
    ("expression", "matched"),
    [
        ("(?i)[a-z]", "kKsS"),
        (r"\s", " \x0b\r"),
        (r"[^\s]", "kK\u212asS\u017fé"),
        ("(?i)s|[^É-\u212a]", "kKsS \x0b\r"),  # RE2 folds [Ss] when it joins it with another class
        (".", "kK\u212asS\u017f \x0bé"),
    ],
)
@pytest.mark.parametrize("form", ["(?:{})", "(?!no)(?:{})"], ids=["RE2", "Python"])
def test_expression_matches_the_same_characters_in_both_engines(expression: str, matched: str, form: str) -> None:
    flags, rest = (expression[:4], expression[4:]) if expression.startswith("(?i)") else ("", expression)
    characters = "kK\u212asS\u017f \x0b\ré"
    found = matcher(flags + form.format(rest))(list(characters))
    assert [char for char, is_found in zip(characters, found, strict=True) if is_found] == list(matched)


def test_common_expressions_take_linear_time() -> None:
    hostile = ["x" * 1000]
    for expression in ("(x+x+)+y", r"(?i)^(x+x+)+\s$", "(?i)(?:[a-z]+[^\\s]+)*(?P<end>y)$"):
        assert not matcher(expression)(hostile)[0]


@settings(max_examples=1000, deadline=None)
@given(expressions, values)
def test_a_run_matches_what_python_does_in_ascii(given_one: tuple[str, tuple[str, str]], some: list[str]) -> None:
    flags, (written, oracle) = given_one
    ascii_only = re.compile(flags + oracle, re.ASCII)
    expected = [ascii_only.fullmatch(value) is not None for value in some]
    assert list(matcher(flags + written)(some)) == expected
    assert compile_expression(flags + written).matches(some) == expected
