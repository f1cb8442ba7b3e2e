"""Positions: what their metadata carries, and what is not floe's."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floe.model.exceptions import PlanRefused
from floe.model.offsets import Intervals, TopicPartition
from floe.model.positions import (
    MAX_METADATA_LENGTH,
    LeaderEpoch,
    PartitionBacklog,
    Position,
    PositionMetadata,
    owner_of,
    without_epoch,
)
from floe.model.route_hash import branch_route, moved_route, route_hash, routing_hash

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


OFFSETS = st.integers(0, 2**63 - 1)
SPANS = st.tuples(OFFSETS, OFFSETS)
DEBTS = st.dictionaries(st.text(), st.builds(PartitionBacklog, OFFSETS, st.text()), max_size=5)
METADATA = st.builds(
    PositionMetadata,
    st.text(),
    OFFSETS,
    st.text(),
    st.text(),
    st.builds(Intervals.of, st.lists(SPANS)),
    DEBTS,
    epoch=st.none() | st.builds(LeaderEpoch, st.integers(0, 2**31 - 1), OFFSETS),
)


@given(METADATA)
def test_metadata_survives_its_encoding(metadata: PositionMetadata) -> None:
    assert PositionMetadata.decode(metadata.encode()) == metadata


@given(METADATA, OFFSETS)
def test_a_position_tells_its_metadata_and_its_debts(metadata: PositionMetadata, offset: int) -> None:
    position = Position(TopicPartition("t", 0), offset, metadata.encode())
    assert position.metadata_fields == metadata
    assert position.backlogs == metadata.backlogs


@given(METADATA, DEBTS)
def test_with_other_debts_all_else_stays(metadata: PositionMetadata, backlogs: dict[str, PartitionBacklog]) -> None:
    behind = metadata.behind(backlogs)
    assert behind == replace(metadata, backlogs=backlogs)
    assert behind.behind(metadata.backlogs) == metadata


def test_the_same_debts_are_always_written_the_same() -> None:
    backlogs = {"b": PartitionBacklog(1, "r"), "a": PartitionBacklog(2, "r")}
    metadata = PositionMetadata("R", 0, "T1", "C1", backlogs=backlogs)
    assert metadata.encode() == metadata.behind(dict(reversed(backlogs.items()))).encode()


def test_metadata_without_debts_and_losses_names_neither() -> None:
    assert set(json.loads(PositionMetadata("R", 0, "T1", "C1").encode())) == {
        "floe", "routing", "since", "topic", "cluster"
    }  # fmt: skip


@pytest.mark.parametrize("metadata", ["", "by hand", '{"debts":1}', '{"floe":2,"debts":{"a":[1,"r"]}}'])
def test_a_position_of_somebody_elses_has_no_debts_and_no_facts(metadata: str) -> None:
    position = Position(TopicPartition("t", 3), 17, metadata)
    assert position.backlogs == {}
    with pytest.raises(PlanRefused, match="position 17 of t-3 has no metadata of floe's"):
        position.metadata_fields  # noqa: B018


def test_fifty_tables_with_long_names_may_owe_a_partition() -> None:
    backlogs = {f"warehouse.namespace.table_{i:03d}": PartitionBacklog(2**40 + i, "0123456789ab") for i in range(50)}
    metadata = PositionMetadata("0123456789ab", 2**40, "u" * 22, "c" * 22, (2**40, 2**40 + 9), backlogs)
    assert len(metadata.encode().encode()) < MAX_METADATA_LENGTH


def test_real_metadata_stays_far_below_kafkas_limit() -> None:
    metadata = PositionMetadata("0123456789ab", 2**63 - 1, "u" * 22, "c" * 22)
    assert len(metadata.encode().encode()) < 300


@given(METADATA)
def test_positions_of_two_leader_epochs_differ_only_by_them(metadata: PositionMetadata) -> None:
    older, newer = (
        Position(TopicPartition("t", 0), 5, replace(metadata, epoch=epoch).encode())
        for epoch in (None, LeaderEpoch(4, 9))
    )
    assert older != newer
    assert without_epoch(newer) == without_epoch(older) == older
    foreign = Position(TopicPartition("t", 0), 5, "by hand")
    assert without_epoch(foreign) == foreign


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
        '{"floe":1,"routing":"r","since":0,"topic":"t","cluster":"c","debts":[]}',
        '{"floe":1,"routing":"r","since":0,"topic":"t","cluster":"c","debts":{"a":7}}',
        '{"floe":1,"routing":"r","since":0,"topic":"t","cluster":"c","debts":{"a":[7]}}',
        '{"floe":1,"routing":"r","since":0,"topic":"t","cluster":"c","debts":{"a":["soon","r"]}}',
        '{"floe":1,"routing":"r","since":0,"topic":"t","cluster":"c","lost":[7]}',
        '{"floe":1,"routing":"r","since":0,"topic":"t","cluster":"c","lost":7}',
        '{"floe":1,"routing":"r","since":0,"topic":"t","cluster":"c","epoch":7}',
        '{"floe":1,"routing":"r","since":0,"topic":"t","cluster":"c","epoch":[7]}',
        '{"floe":1,"routing":"r","since":0,"topic":"t","cluster":"c","epoch":["seven",1]}',
        "[" * 4000,
    ],
)
def test_metadata_that_only_looks_like_floes_is_not(text: str) -> None:
    assert PositionMetadata.decode(text) is None


def test_main_and_no_branch_share_a_route_all_else_differs() -> None:
    assert route_hash("t", None) == route_hash("t", "main")
    assert len({route_hash("t", None), route_hash("u", None), route_hash("t", "audit")}) == 3


def test_routing_changes_with_tables_and_routes_not_with_order() -> None:
    assert routing_hash({"a": "1", "b": "2"}) == routing_hash({"b": "2", "a": "1"})
    assert len({routing_hash(routes) for routes in ({"a": "1"}, {"a": "1", "b": "1"}, {"a": "2"}, {"b": "1"})}) == 4


def test_a_rule_makes_another_route() -> None:
    assert route_hash("t", None, "all") == route_hash("t", None)
    assert (
        len({route_hash("t", None), route_hash("t", None, {"regex": "a"}), route_hash("t", None, {"regex": "b"})}) == 3
    )


def test_branch_routes_of_main_have_names_found_again() -> None:
    main = route_hash("t", None, {"regex": "a"})
    assert branch_route(main, "audit") == route_hash("t", "audit", {"regex": "a"})
    assert branch_route("java", "audit") == "java"
    assert moved_route(branch_route(main, "audit"), "audit", "main", [main]) == main
    assert moved_route(main, "main", "audit", [main]) == branch_route(main, "audit")
    assert moved_route("unknown", "audit", "main", [main]) == "unknown"


def test_an_owner_is_told_in_few_bytes() -> None:
    assert owner_of("pizzas") == "pizzas"
    long = [owner_of("p" * 250), owner_of("p" * 249 + "q"), owner_of("ü" * 30)]
    assert len(set(long)) == 3
    assert all(len(json.dumps(owner)) <= 42 for owner in long)


def test_an_owner_leaves_the_rest_of_the_metadata_as_it_was() -> None:
    bare = PositionMetadata("R", 0, "T1", "C1")
    owned = replace(bare, owner="pizzas")
    assert owned.encode() == bare.encode()[:-1] + ',"owner":"pizzas"}'
    assert PositionMetadata.decode(owned.encode()) == owned


def test_an_owner_never_takes_the_room_of_debts() -> None:
    backlogs = {f"db.{'t' * 100}{i}": PartitionBacklog(2**40, "0123456789ab") for i in range(27)}
    metadata = PositionMetadata("R", 0, "T1", "C1", backlogs=backlogs, owner="p" * 40)
    assert '"owner"' in metadata.encode()
    free = MAX_METADATA_LENGTH - len(replace(metadata, owner="").encode())
    full = replace(metadata, backlogs={**backlogs, "x" * (free - 30): PartitionBacklog(0, "")})
    assert MAX_METADATA_LENGTH - 40 < len(full.encode()) <= MAX_METADATA_LENGTH
    assert '"owner"' not in full.encode()
