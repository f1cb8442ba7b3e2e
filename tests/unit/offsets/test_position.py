"""Positions: what their metadata carries, and what is not floe's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floe.offsets.position import PositionMetadata
from floe.offsets.routing import route_hash, routing_hash

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(st.text(), st.integers(0, 2**63 - 1), st.text(), st.text())
def test_metadata_survives_its_encoding(routing: str, since: int, topic_id: str, cluster_id: str) -> None:
    metadata = PositionMetadata(routing, since, topic_id, cluster_id)
    assert PositionMetadata.decode(metadata.encode()) == metadata


def test_real_metadata_stays_far_below_kafkas_limit() -> None:
    metadata = PositionMetadata("0123456789ab", 2**63 - 1, "u" * 22, "c" * 22)
    assert len(metadata.encode().encode()) < 300


@given(st.text() | JSON.map(str))
def test_any_other_text_is_somebody_elses(text: str) -> None:
    assert PositionMetadata.decode(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[1]",
        '{"floe":2,"routing":"r","since":0,"topic":"t","cluster":"c"}',
        '{"floe":1,"routing":"r","topic":"t","cluster":"c"}',
        '{"floe":1,"routing":"r","since":"soon","topic":"t","cluster":"c"}',
        '{"floe":1,"routing":"r","since":NaN,"topic":"t","cluster":"c"}',
        '{"floe":1,"routing":"r","since":Infinity,"topic":"t","cluster":"c"}',
        "[" * 4000,
    ],
)
def test_metadata_that_only_looks_like_floes_is_not(text: str) -> None:
    assert PositionMetadata.decode(text) is None


def test_main_and_no_branch_are_one_route_and_all_else_makes_another() -> None:
    assert route_hash("t", None) == route_hash("t", "main")
    assert len({route_hash("t", None), route_hash("u", None), route_hash("t", "audit")}) == 3


def test_routing_changes_with_the_tables_but_not_with_their_order() -> None:
    assert routing_hash("t", ["a", "b"], None) == routing_hash("t", ["b", "a"], None)
    assert routing_hash("t", ["a"], None) != routing_hash("t", ["a", "b"], None)
    assert routing_hash("t", ["a"], None) != routing_hash("t", ["a"], "audit")
