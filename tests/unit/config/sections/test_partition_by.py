import pytest
from hypothesis import given
from hypothesis import strategies as st

from floe.config.sections.field_terms import PartitionTerm, parse_partition_by

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


def test_one_column_may_have_different_kinds_of_terms():
    assert len(parse_partition_by("ts, year(ts), bucket(ts, 2)")) == 3
