"""The C library's search, and Python's where there is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floe_job.source.native import memory


@given(st.binary(max_size=30), st.binary(min_size=1, max_size=3), st.integers(0, 40))
def test_finds_what_python_finds(text: bytes, part: bytes, start: int) -> None:
    assert memory.find(bytearray(text), part, start) == text.find(part, start)


def test_finds_zero_bytes_and_the_very_end() -> None:
    text = bytearray(b"ab\0cd")
    assert [memory.find(text, part) for part in (b"\0c", b"d", b"cd", b"de")] == [2, 4, 3, -1]
    text += b"e"  # no view of it is left


def test_searches_where_the_c_library_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_MEMMEM", None)
    assert memory.find(bytearray(b"xabab"), b"ab", 2) == 3
