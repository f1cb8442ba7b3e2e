"""The depth of records, found in the text of a chunk."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floe_job.convert.json.framing import NotExact, joined
from floe_job.convert.json.parse import MAX_DEPTH
from floe_job.convert.json.text_checks import check_depth


def deep(levels: int, blanks: int = 0) -> bytes:
    return b'{"a":' * levels + b" " * blanks + b"1" + b"}" * levels


def wide(brackets: int) -> bytes:
    return b'{"a":[' + b",".join([b"[]"] * brackets) + b"]}"


records = st.builds(deep, st.integers(1, MAX_DEPTH), st.integers(0, 130)) | st.integers(0, 200).map(wide)


@settings(max_examples=100)
@given(st.lists(records, max_size=8), st.lists(records, max_size=8), st.integers(0, 70))
def test_record_that_is_too_deep_is_found_among_others(before: list[bytes], after: list[bytes], blanks: int) -> None:
    check_depth(joined([*before, *after]))
    with pytest.raises(NotExact) as found:
        check_depth(joined([*before, deep(MAX_DEPTH + 1, blanks), *after]))
    assert found.value.row == len(before)
