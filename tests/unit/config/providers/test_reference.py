"""References in texts, as Kafka's ``ConfigTransformer`` reads them."""

from __future__ import annotations

import pytest

from floe.config.providers.reference import Reference, references_in, replace_references


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${env:A}", [Reference("env", "", "A")]),
        ("${file:/a/b.properties:c.d}", [Reference("file", "/a/b.properties", "c.d")]),
        ("${file:/a:b:c}", [Reference("file", "/a", "b:c")]),
        ("${conn:id:password}", [Reference("conn", "id", "password")]),
        ("${env:}", [Reference("env", "", "")]),
        ("https://${env:A}:${env:B}/x", [Reference("env", "", "A"), Reference("env", "", "B")]),
        ("${a ${env:A}}", [Reference("env", "", "A")]),
        ("${A}", []),
        ("$env:A", []),
        ("${env:A", []),
        ("{env:A}", []),
        ("${:A}", []),
    ],
)
def test_references_in_a_text(text, expected):
    assert references_in(text) == expected


def test_text_around_references_is_kept():
    assert replace_references("a${env:A}b${x}c${env:B}$", lambda one: f"<{one.key}>") == "a<A>b${x}c<B>$"


def test_a_value_is_not_resolved_again():
    assert replace_references("${env:A}", lambda one: "${env:B}\\1") == "${env:B}\\1"


def test_a_reference_is_written_as_it_was():
    assert [str(one) for one in references_in("${env:A}${file:/x:k}")] == ["${env:A}", "${file:/x:k}"]
