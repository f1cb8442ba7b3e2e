"""Java's format of properties: what ``java.util.Properties.load`` makes of the same text."""

from __future__ import annotations

import pytest

from floe.config.worker_file import MalformedProperties, parse_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a = b ", {"a": "b "}),
        ("  a:b\r\nc d\re\f=\tf", {"a": "b", "c": "d", "e": "f"}),
        ("a", {"a": ""}),
        ("a=\nb:", {"a": "", "b": ""}),
        ("# a=1\n  ! b=2\n\n \t\nc=3", {"c": "3"}),
        ("a=b # no comment", {"a": "b # no comment"}),
        ("a=1\na=2", {"a": "2"}),
        ("a==b", {"a": "=b"}),
        ("a : = b", {"a": "= b"}),
        ("a  b=c", {"a": "b=c"}),
        ("a\\=b\\:c\\ d=e", {"a=b:c d": "e"}),
        ("a=b\\\n   c\\\r\n\td", {"a": "bcd"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=b\\\n# c=d", {"a": "b# c=d"}),
        ("a\\\n b=c", {"ab": "c"}),
        ("a=b\\", {"a": "b"}),
        ("a=b\\\n\nc=d", {"a": "b", "c": "d"}),
        ('a=\\t\\n\\r\\f\\q\\\\\\"', {"a": '\t\n\r\fq\\"'}),
        ("a=\\u00e9\\u20AC", {"a": "é€"}),
        ("a=\\ud83c\\udf55", {"a": "🍕"}),
        ("=b", {"": "b"}),
        ("", {}),
    ],
)
def test_parse_properties_reads_as_java(text, expected):
    assert parse_properties(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=1\nb=\\u12", "line 2: .u needs four"),
        ("a=1\n\nb=\\\n \\u12g4", "line 3: .u needs four"),
        ("a=secret\\ud83c", "line 1: .u has half of a surrogate pair"),
        ("a=b\0", "line 1: a NUL character"),
        ("a=\\u0000", "line 1: a NUL character"),
    ],
)
def test_a_malformed_text_is_refused_with_its_line(text, message):
    with pytest.raises(MalformedProperties, match=message) as caught:
        parse_properties(text)
    assert "secret" not in str(caught.value)
