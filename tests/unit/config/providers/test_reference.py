"""References in texts, as Kafka's ``ConfigTransformer`` reads them."""

from __future__ import annotations

import pytest

from floe.config.providers.reference import ConfigReference, references_in, replace_references, resolved_part


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${env:A}", [ConfigReference("env", "", "A")]),
        ("${file:/a/b.properties:c.d}", [ConfigReference("file", "/a/b.properties", "c.d")]),
        ("${file:/a:b:c}", [ConfigReference("file", "/a", "b:c")]),
        ("${conn:id:password}", [ConfigReference("conn", "id", "password")]),
        ("${env:}", [ConfigReference("env", "", "")]),
        ("https://${env:A}:${env:B}/x", [ConfigReference("env", "", "A"), ConfigReference("env", "", "B")]),
        ("${a ${env:A}}", [ConfigReference("env", "", "A")]),
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


@pytest.mark.parametrize(
    ("text", "value", "part"),
    [
        ("${env:A}", "secret", "secret"),
        ("me:${file:/x:k}", "me:secret", "secret"),
        ("https://${env:H}/x", "https://host/x", "host"),
        ("${env:A}:${env:B}", "me:secret", "me:secret"),
        ("a${env:A}a", "a", "a"),
        ("x${env:A}", "other", "other"),
        ("no reference", "no reference", "no reference"),
    ],
)
def test_resolved_part_is_what_the_reference_meant(text, value, part):
    assert resolved_part(text, value) == part
