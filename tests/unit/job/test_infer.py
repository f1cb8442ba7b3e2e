"""Section 3.2 of the sink's behaviour: types proposed by values."""

from __future__ import annotations

from typing import Any

import pytest

from floe_job.infer import ListOf, Proposal, StructOf, count, extend, iceberg_type, infer, merge


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ({}, None),
        ([], None),
        ([None, 1], None),
        ([[], [1]], None),
        ({"a": None, "b": {}}, None),
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
