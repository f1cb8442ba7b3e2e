import pytest
from hypothesis import given
from hypothesis import strategies as st

from floe.config.sections.field_terms import SortTerm, parse_sort_by

COLUMNS = st.from_regex(r"[a-z_]\w{0,8}( \w{1,4})?(\.[a-z]\w{0,5})?", fullmatch=True)
PLAIN = st.sampled_from(["identity", "year", "month", "day", "hour"])
WITH_ARGUMENT = st.sampled_from(["bucket", "truncate"])
ENDS = (st.booleans(), st.sampled_from([None, True, False]))
TERMS = st.one_of(
    st.builds(SortTerm, COLUMNS, PLAIN, st.none(), *ENDS),
    st.builds(SortTerm, COLUMNS, WITH_ARGUMENT, st.integers(1, 2**31 - 1), *ENDS),
)


def test_terms_have_a_direction_and_a_place_for_nulls():
    assert parse_sort_by("a, b.c desc , bucket(id, 16) ASC nulls  last,days(ts) Desc Nulls First, d nulls last") == (
        SortTerm("a"),
        SortTerm("b.c", descending=True),
        SortTerm("id", "bucket", 16, nulls_first=False),
        SortTerm("ts", "day", descending=True, nulls_first=True),
        SortTerm("d", nulls_first=False),
    )


def test_blanks_are_no_order():
    assert parse_sort_by("  ") == ()


@pytest.mark.parametrize(
    ("text", "lead"),
    [
        ("a", True),
        ("a asc", True),
        ("a desc", False),
        ("a nulls last", False),
        ("a desc nulls first", True),
        ("a asc nulls last", False),
    ],
)
def test_nulls_are_first_ascending_last_descending_by_default(text, lead):
    (term,) = parse_sort_by(text)
    assert term.nulls_lead is lead


@pytest.mark.parametrize("name", ["asc", "desc", "nulls", "first", "last"])
def test_a_column_may_be_called_as_a_word_of_the_grammar(name):
    assert parse_sort_by(f"{name}, x, {name}.y desc") == (
        SortTerm(name),
        SortTerm("x"),
        SortTerm(f"{name}.y", descending=True),
    )


def test_a_column_with_a_blank_in_its_name_stands_in_parentheses():
    assert parse_sort_by("identity(a desc) desc") == (SortTerm("a desc", descending=True),)


@given(st.lists(TERMS, max_size=5, unique_by=lambda term: term.term))
def test_what_is_printed_is_read_back(terms):
    assert parse_sort_by(", ".join(map(str, terms))) == tuple(terms)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a descending", "'a descending' does not end as a sort term may"),
        ("a nulls", "'a nulls' does not end"),
        ("a nulls first desc", "'a nulls first desc' does not end"),
        ("a desc asc", "'a desc asc' does not end"),
        ("day(ts) down", r"'day\(ts\) down' does not end"),
        ("desc nulls", "'desc nulls' does not end"),
        ("week(ts)", "unknown transform 'week'"),
        ("bucket(id) desc", "needs a column and a positive number"),
        ("bucket(16, id)", "needs a column and a positive number: bucket.id, 16."),
        ("truncate(10,name) desc", "needs a column and a positive number: truncate.name, 10."),
        ("a,,b", "names no column"),
        ("a,", "names no column"),
        ("a) desc", "names no column"),
        ("year() desc", "names no column|does not end"),
        ("a, a desc", "'a desc' sorts by what 'a' has sorted by before"),
        ("bucket(a,2), bucket(a, 2) desc", "sorts by what"),
        ("a" * 4001, "4001 characters are too many"),
    ],
)
def test_what_is_no_order_is_refused_with_the_term(text, problem):
    with pytest.raises(ValueError, match=problem):
        parse_sort_by(text)


def test_one_column_may_be_sorted_by_in_several_ways():
    assert len(parse_sort_by("day(ts), bucket(id, 2), bucket(id, 3), hour(ts) desc, ts")) == 5
