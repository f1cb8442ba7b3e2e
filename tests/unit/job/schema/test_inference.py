"""Section 3.2 of the sink's behaviour: types proposed by values."""

from __future__ import annotations

from typing import Any

import pytest
from pyiceberg.schema import Schema, assign_fresh_schema_ids, index_by_id
from pyiceberg.types import NestedField

from floe_job.exceptions import SchemaConflict
from floe_job.schema.inference import extend, infer, merge
from floe_job.schema.proposal import ColumnRules, ListOf, Proposal, StructOf, count, iceberg_type

STRING, FAIL, FOLD = (
    ColumnRules(on_conflict="string"),
    ColumnRules(on_conflict="fail"),
    ColumnRules(case_insensitive=True),
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ({}, None),
        ([], None),
        ([None, [], {}], None),
        ({"a": None, "b": {}, "c": [{"d": []}]}, None),
        ([None, 1], ListOf("long")),
        ([[], [1]], ListOf(ListOf("long"))),
        ([{}, {"a": 1}], ListOf(StructOf((("a", "long"),)))),
        ("2024-01-02", "string"),
        (True, "boolean"),
        (1, "long"),
        (1.0, "double"),
        ([1, "a"], ListOf("long")),
        ([1, 2.5], ListOf("double")),
        ([{"a": 1}, {"b": "x"}], ListOf(StructOf((("a", "long"), ("b", "string"))))),
        ({"b": 1, "x": None, "a": [True]}, StructOf((("b", "long"), ("a", ListOf("boolean"))))),
    ],
)
def test_a_value_proposes_a_type(value: Any, expected: Proposal | None) -> None:
    assert infer(value) == expected


@pytest.mark.parametrize(
    ("first", "later", "expected"),
    [
        ("long", "double", "double"),
        ("double", "long", "double"),
        ("long", "string", "long"),
        ("string", "long", "string"),
        ("long", None, "long"),
        (ListOf("long"), ListOf("double"), ListOf("double")),
        (
            StructOf((("a", "long"),)),
            StructOf((("b", "string"), ("a", "double"))),
            StructOf((("a", "double"), ("b", "string"))),
        ),
    ],
)
def test_two_proposals_merge_or_the_first_one_wins(first: Proposal, later: Proposal | None, expected: Proposal) -> None:
    assert merge(first, later) == expected


def test_a_known_list_looks_into_elements_after_an_empty_one() -> None:
    known = ListOf(StructOf((("a", "long"),)))
    assert extend(known, [{}, {"b": 1}]) == ListOf(StructOf((("a", "long"), ("b", "long"))))


def test_nested_columns_count_each() -> None:
    assert count(StructOf((("a", ListOf("long")), ("b", "string")))) == 4


def test_proposed_columns_are_optional_all_the_way_down() -> None:
    assert str(iceberg_type(ListOf(StructOf((("a", "long"),))))) == "list<struct<-1: a: optional long>>"


@pytest.mark.parametrize(
    ("first", "later", "expected"),
    [
        ("long", "double", "double"),
        ("long", "string", "string"),
        ("boolean", "long", "string"),
        ("long", ListOf("long"), "string"),
        (ListOf("long"), StructOf((("a", "long"),)), "string"),
        (ListOf("long"), ListOf("boolean"), ListOf("string")),
        (
            StructOf((("a", "long"), ("b", "long"))),
            StructOf((("a", ListOf("long")), ("b", "long"))),
            StructOf((("a", "string"), ("b", "long"))),
        ),
    ],
)
def test_a_conflict_becomes_text_at_the_deepest_place(first: Proposal, later: Proposal, expected: Proposal) -> None:
    assert merge(first, later, STRING) == expected
    assert merge(later, first, STRING) == expected


def test_a_value_in_conflict_with_itself_becomes_text_there() -> None:
    assert infer({"l": [1, "a"], "m": [{"x": 1}, {"x": [1]}]}, STRING) == StructOf(
        (("l", ListOf("string")), ("m", ListOf(StructOf((("x", "string"),)))))
    )


def test_failing_conflict_names_column_both_types_and_key() -> None:
    with pytest.raises(
        SchemaConflict, match=r"column 'a\.b\.element' comes as long and as struct.*floe\.schema\.on-conflict is 'fail'"
    ):
        extend(StructOf((("b", ListOf("long")),)), {"b": [{"x": 1}]}, FAIL, ("a",))
    with pytest.raises(SchemaConflict, match=r"column 'l\.element' comes as string and as long"):
        infer(["a", 1], FAIL, ("l",))


def test_case_insensitive_spellings_are_one_column_last_value() -> None:
    assert infer({"New": 1, "new": "x"}, FOLD) == StructOf((("New", "string"),))
    known = StructOf((("New", "long"),))
    assert extend(known, {"NEW": 1.5, "x": 1}, FOLD) == StructOf((("New", "double"), ("x", "long")))
    assert merge(known, StructOf((("nEW", "double"),)), FOLD) == StructOf((("New", "double"),))


def test_columns_are_optional_down_to_elements() -> None:
    proposal = infer({"l": [{"a": [1]}]}, ColumnRules())
    assert proposal is not None
    schema = Schema(NestedField(1, "s", iceberg_type(proposal), required=False))
    assert all(field.optional for field in index_by_id(assign_fresh_schema_ids(schema)).values())
