"""Base64 as columns and one by one."""

from __future__ import annotations

import base64

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from floe_job.convert.typed.base64_text import bytes_column, bytes_of, decode_column, decode_text

TEXTS = st.one_of(
    st.binary(max_size=9).map(lambda found: base64.b64encode(found).decode()),
    st.text("AB/+=9 -é", max_size=9),
    st.none(),
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", b""),
        ("QQ==", b"A"),
        (" QQ==\n", b"A"),
        ("QQ==QUI=", b"AAB"),
        ("QUJD QUJD", b"ABCABC"),
        ("QR==", b"A"),
        ("QQ=", None),
        ("QQ", None),
        ("Q Q==", None),
        ("=QQ=", None),
        ("QQ==é", None),
        ("Q-Q=", None),
    ],
)
def test_text_is_decoded_as_jackson_does(text: str, found: bytes | None) -> None:
    assert decode_text(text) == found


@given(st.lists(TEXTS, max_size=12), st.integers(0, 3))
def test_columns_are_decoded_as_single_texts_are(texts: list[str | None], offset: int) -> None:
    column = pa.array(["QQ==", None, "x", *texts], pa.large_string())[offset:]
    decoded = decode_column(column)
    found = bytes_column(decoded, column.is_null()).to_pylist()
    for text, value, bad in zip(column.to_pylist(), found, decoded.bad.tolist(), strict=True):
        expected = None if text is None else decode_text(text)
        if bad:
            assert text is not None
        else:
            assert value == expected
        assert bad or text is None or expected is not None


@given(st.lists(TEXTS.filter(lambda text: text is not None), max_size=20))
def test_bytes_of_texts_are_those_of_each(texts: list[str]) -> None:
    column, bad = bytes_of(pa.array(texts, pa.large_string()))
    expected = [decode_text(text) for text in texts]
    assert column.to_pylist() == [found or b"" for found in expected]
    assert ([] if bad is None else bad.tolist()) == [row for row, found in enumerate(expected) if found is None]
