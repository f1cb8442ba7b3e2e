"""Expressions: Java's meaning, or a refusal that says what to write."""

from __future__ import annotations

import pytest

from floe.config.expressions.java_regex import check_expression, compile_expression

VALUES = [
    *("", "a", "b", "ab", "aa", "a]", "a{", "k", "K", "\u212a", "s", "S", "\u017f", "é", "É", "aé", "\U0001f600"),
    *("\n", "\x0b", "\r", "\x1c", "\x85", "\u2028", "a\n", "a\r", "a\r\n", "a\x85", "a\nb", " ", "1", "\u0661"),
]


@pytest.mark.parametrize(
    ("expression", "matched"),
    [
        ("(?i)k", "k K"),
        ("(?i:S)", "s S"),
        ("(?i)é", "é"),
        ("(?i)[j-l]", "k K"),
        ("(?i)[é-\u0180s]", "s S é \u017f"),
        (r"\d", "1"),
        (r"a.", "ab aa a] a{ aé"),
        (r"a(?s:.)", ["ab", "aa", "a]", "a{", "aé", "a\n", "a\r", "a\x85"]),
        (r"\s", ["\n", "\x0b", "\r", " "]),
        (r"(?i)[^\S\n]", ["\x0b", "\r", " "]),
        (r"a$\s*", ["a", "a\n", "a\r", "a\r\n"]),
        (r"a\Z\n", ["a\n"]),
        (r"a\r$\n", []),
        ("^a$|^b$", "a b"),
        (r"\B", [""]),
        (r"a\b(?s:.)", ["a]", "a{", "aé", "a\n", "a\r", "a\x85"]),
        ("(?!a$)a.*", "ab aa a] a{ aé"),
        ("(?!.*b)(?=.*a).*", "a aa a] a{ aé"),
        (
            "(?:(?!b).)*",
            [v for v in VALUES if not {*v} & {*"b\n\r\x85\u2028"}],
        ),
        ("(?i)(?:(?<=a)B|a(?=.))*", ["", "ab"]),
        (r"[\]\[]|a[]]", "a]"),
        (r"\Qa]\E|\Qa{", "a] a{"),
        (r"a[\Q]{\E]", "a] a{"),
        (r"\Qa\E+", "a aa"),
        ("(?<shop>a)(?<b>b|])", "ab a]"),
        ("a*+a", []),
        ("a?+b|k", "ab b k"),
        ("a{1,2}+", "a aa"),
        ("(?:a{1,2}+)a", []),
        ("(?i)(k)++s?", "k K"),
        ("(?>a)b|(?>a+)]", "ab a]"),
    ],
)
def test_an_expression_means_what_it_means_to_java(expression, matched):
    """Found with java.util.regex.Pattern of Java 25."""
    compiled = compile_expression(expression)
    wanted = matched.split() if isinstance(matched, str) else matched
    assert [value for value in VALUES if compiled.fullmatch(value)] == [value for value in VALUES if value in wanted]


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("a{,2}", r"write {n}, {n,} or {n,m}, or \{ for the character"),
        ("a{b}", r"write {n}, {n,} or {n,m}, or \{ for the character"),
        ("[a[b]]", r"write \[ or \& for the character"),
        ("[^[a]]", r"write \[ or \& for the character"),
        ("[&&a]", r"write \[ or \& for the character"),
        (r"\v", r"'\\v' means something else in Java: write the character, or \xhh"),
        (r"[\v]", r"'\\v' means something else in Java"),
        (r"\101", r"'\\101' means something else in Java"),
        (r"\0377", r"'\\0' means something else in Java"),
        ("(?m)^a$", "(?m) and (?x) mean something else in Java"),
        ("(?x)[a b]", "(?m) and (?x) mean something else in Java"),
        ("a(?m:^b)", "(?m) and (?x) mean something else in Java"),
        (r"\ud83d\ude00", "a half of a character"),
        ("(a)?(?(1)b|c)", "Java has no such construct (groupref_exists)"),
        ("(?<=a+)b", "look-behind requires fixed-width pattern; write it in Python's syntax"),
        ("(?P<a>", "write it in Python's syntax"),
        (r"\p{L}+", "name the characters, as in [A-Za-z]"),
        (r"[\P{Lu}]", "name the characters, as in [A-Za-z]"),
        ("(?<my_shop>a)", "write (…): names of groups are not used"),
        (r"(?<shop>a)\k<shop>", "write out what the group matches"),
        (r"a\z", "leave it out, an expression has to match as a whole"),
        ("[a-z&&[^b]]", r"write \[ or \& for the character"),
        (r"(a)\1", r"to match \1 can take ages, and here the time of a match is bounded: write out what it repeats"),
        (r"(?i)(a)(?!\1)a", r"to match \1 can take ages"),
        ("(?>ab|a)b", "of one character only, as in a*+. If what follows cannot begin with what it takes"),
        ("(?>ab|a)b", "it only saves time in Java: write (?:…)"),
        ("(?:ab)++a", "it only saves time in Java: leave the + out"),
        ("(a{100}){100}b", "written out, its counts make more than 10000 parts of it: choose smaller ones"),
        ("a{1000000}", "written out, its counts make more than 10000 parts of it"),
    ],
)
def test_expression_that_java_reads_differently_is_refused(expression, why):
    for read in (compile_expression, check_expression):
        with pytest.raises(ValueError, match="is no regular expression that floe can use") as caught:
            read(expression)
        assert why in str(caught.value)


@pytest.mark.parametrize(
    "expression",
    [r"a\{,2}", "[{]", r"[\[&]", "[a&b]", r"[&\&]", "a{2}", "a{0,2}?", r"\\v", r"\N{BULLET}", "(?#{)"],
)
def test_what_only_looks_like_it_is_not(expression):
    compile_expression(expression)


def test_expression_too_deep_to_translate_is_refused():
    with pytest.raises(ValueError, match="is no regular expression that floe can use: maximum recursion depth"):
        compile_expression("(?:" * 300 + "a" + ")*" * 300)


@pytest.mark.parametrize(
    "expression",
    ["(a+)+b", "(?!b)(a+)+b", "(?=(a+)+b|a)a*b", "(?:(?!(a|aa)+c)a)*b", "a*(?<!a)a*b", "(a?){9}(a{9})*b", "(.*){20}b"],
)
@pytest.mark.parametrize("length", [30, 10_000])
def test_no_value_is_hostile_to_an_expression(expression, length):
    """Each took ages, or would in an engine that tries one way after the other; a hang is seen by whoever runs the test."""
    assert compile_expression(expression).matches(["a" * length, "a" * length + "b"]) == [False, True]


def test_many_values_are_matched_together_but_separately():
    expression = compile_expression(r"(?<!a)\w*(?=b)b")
    values = ["b", "a", "ab", "", "b\n", "\n", "c" * 2000 + "b", "b"]
    assert expression.matches(values * 50) == [True, False, True, False, False, False, True, True] * 50
    assert expression.matches([]) == []
