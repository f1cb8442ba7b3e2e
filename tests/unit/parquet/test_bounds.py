"""Upper bounds of text: cut, then raised to a character that there is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.manifest import DataFile

from floe.parquet.data_file import raised
from tests.support.tables.parquet_tables import SCHEMA, TableFactory, commit, rows, write

LAST = "\U0010ffff"


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("z" * 16, "z" * 16),
        ("z" * 17, "z" * 15 + "{"),
        ("z" * 15 + "\ud7ffzzz", "z" * 15 + "\ue000"),
        ("z" * 15 + "\ud7ff", "z" * 15 + "\ud7ff"),
        ("z" * 14 + "\ud7ff" + LAST * 2, "z" * 14 + "\ue000"),
        ("z" + LAST * 20, "{"),
        (LAST * 16, LAST * 16),
        (LAST * 17, None),
        ("\uffff" * 17, "\uffff" * 15 + "\U00010000"),
    ],
)
def test_a_files_largest_text_has_a_bound_that_can_be_read(
    new_table: TableFactory, text: str, bound: str | None
) -> None:
    table = new_table(SCHEMA)
    (file,) = write(table, rows(table, id=[1, 2], name=["a", text]))
    assert upper(file) == bound
    commit(table, [file])
    for least in ("a", text[:16], text):
        assert table.scan(row_filter=f"name >= '{least}'").to_arrow()["name"].to_pylist()[-1] == text


@pytest.mark.parametrize(("mode", "bound"), [("full", "zz\ud7ffz"), ("truncate(3)", "zz\ue000"), ("counts", None)])
def test_a_bound_has_the_length_that_the_table_asks_for(new_table: TableFactory, mode: str, bound: str | None) -> None:
    table = new_table(SCHEMA, properties={"write.metadata.metrics.default": mode})
    (file,) = write(table, rows(table, id=[1], name=["zz\ud7ffz"]))
    assert upper(file) == bound


@given(st.text(st.sampled_from(["a", "\x00", "\ud7ff", "\ue000", "\uffff", LAST]), max_size=8), st.integers(1, 8))
def test_a_bound_is_short_and_above_all_that_begins_alike(text: str, length: int) -> None:
    bound = raised(text, length)
    if bound is None:
        assert set(text[:length]) == {LAST}
    else:
        assert len(bound) <= length
        assert bound.encode() >= text.encode()
        assert bound == text or bound.encode() > (text[:length] + LAST).encode()


def upper(file: DataFile) -> str | None:
    bound = (file.upper_bounds or {}).get(2)
    return None if bound is None else bound.decode()
