import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floe.config.sections.field_terms import PartitionTerm, parse_partition_by
from tests.support.repository import DOCS

COLUMNS = st.from_regex(r"[a-z_]\w{0,8}(\.[a-z]\w{0,5})?", fullmatch=True)
TERMS = st.one_of(
    st.builds(PartitionTerm, st.sampled_from(["identity", "year", "month", "day", "hour"]), COLUMNS),
    st.builds(PartitionTerm, st.sampled_from(["bucket", "truncate"]), COLUMNS, st.integers(1, 2**31 - 1)),
)


def test_commas_inside_parentheses_do_not_separate():
    assert parse_partition_by(" store , bucket( id , 16 ),days(ts), truncate(name,4)") == (
        PartitionTerm("identity", "store"),
        PartitionTerm("bucket", "id", 16),
        PartitionTerm("day", "ts"),
        PartitionTerm("truncate", "name", 4),
    )


@pytest.mark.parametrize("unit", ["year", "month", "day", "hour"])
def test_time_transforms_are_known_in_singular_and_plural(unit):
    assert parse_partition_by(f"{unit}(ts)") == parse_partition_by(f"{unit}s(ts)") == (PartitionTerm(unit, "ts"),)


def test_blanks_are_no_partitioning():
    assert parse_partition_by("  ") == ()


@given(st.lists(TERMS, max_size=5, unique_by=lambda term: term.source))
def test_what_is_printed_is_read_back(terms):
    assert parse_partition_by(", ".join(map(str, terms))) == tuple(terms)


@pytest.mark.parametrize(
    "text",
    [
        "week(ts)",
        "void(ts)",
        "bucket(id)",
        "bucket(id, x)",
        "bucket(id, 0)",
        "bucket(id, -1)",
        "bucket(id, 99999999999)",
        "bucket(, 4)",
        "bucket(a, b, 4)",
        "year()",
        "year(a, b)",
        "year((ts))",
        "a,,b",
        "a,",
        "a)",
        "(a",
        "year(ts",
        "a..b",
        "a,a",
        "year(ts),month(ts)",
        "bucket(a,2),bucket(a,3)",
    ],
)
def test_what_is_no_partitioning_is_refused(text):
    with pytest.raises(ValueError, match=r".+"):
        parse_partition_by(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("bucket(16, id)", "bucket(id, 16)"),
        ("Truncate( 4 , a.b )", "truncate(a.b, 4)"),
        ("bucket(0, id)", "bucket(column, 16)"),
        ("truncate(9999999999, name)", "truncate(column, 16)"),
        ("bucket(16, a, b)", "bucket(column, 16)"),
        ("bucket(١٦, id)", "bucket(column, 16)"),
        ("bucket(16, )", "bucket(column, 16)"),
        ("bucket(16)", "bucket(column, 16)"),
    ],
)
def test_proposal_for_a_term_of_two_parts_is_taken(text: str, meant: str) -> None:
    with pytest.raises(ValueError, match=r".+") as caught:
        parse_partition_by(text)
    assert str(caught.value).endswith(f": {meant}")
    assert str(parse_partition_by(meant)[0]) == meant


def test_terms_of_the_manual_are_taken() -> None:
    text = "".join(page.read_text() for page in DOCS.rglob("*.md"))
    terms = set(re.findall(r"`((?:year|month|day|hour|bucket|truncate)\([^`()]+\))`", text))
    assert {"bucket(id, 16)", "truncate(col, n)"} <= terms
    for term in terms:
        assert parse_partition_by(re.sub(r", n\)$", ", 16)", term)), term


def test_one_column_may_have_different_kinds_of_terms():
    assert len(parse_partition_by("ts, year(ts), bucket(ts, 2)")) == 3
