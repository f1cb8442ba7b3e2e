"""Expressions whose groups are asked for, and what replaces them."""

from __future__ import annotations

import pytest

from floe.config.expressions.date_pattern import check_date_pattern
from floe.config.expressions.java_regex import compile_captures, replaced, split_replacement


def test_groups_are_numbered_and_named() -> None:
    found = compile_captures(r"(?<a>x)(?:y)(z|(w))$")
    assert (found.names, found.groups) == ({"a": 1}, 3)
    assert found.pattern.endswith("\\z")
    assert compile_captures("plain-name").groups == 0


@pytest.mark.parametrize(
    "text", ["(?=a)b", "a(?!b)", "(?<!a)b", "a*+b", r"\Ba", "(a*)*", "(a|b*){2}", "a{1001}", "(a)\\1"]
)
def test_what_re2_has_not_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no regular expression that floe can use"):
        compile_captures(text)


def test_replacement_has_texts_and_groups() -> None:
    parts = split_replacement(r"a$1\$${b}$12", {"b": 2}, 3)
    assert parts == ("a", 1, "$", 2, 1, "2")
    assert replaced(parts, ["whole", "x", None, "z"]) == "ax$x2"


@pytest.mark.parametrize("text", ["$", "$x", "$4", "${c}", "${1}", "${b", "\\", "x" * 1001])
def test_replacement_that_java_refuses_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        split_replacement(text, {"b": 2}, 3)


def test_date_patterns_are_checked() -> None:
    for pattern in ("", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "''yy", "'it''s' yy", "XX XXX"):
        check_date_pattern(pattern)


@pytest.mark.parametrize("pattern", ["b", "yyyyTHH", "'yy", "XXXX", "y" * 1001])
def test_date_pattern_that_java_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        check_date_pattern(pattern)
