"""Announcements: written and found again."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from floe.control import announcement as module
from floe.control import headers as h
from floe.control.announcement import Announcement, TableAnnouncement, TableFiles, encode_announcement
from floe.control.data_files import SpecFiles
from floe.control.wire.codec import decode
from floe.control.wire.events import PartitionFieldType, PartitionType
from floe.model.accounting import TableCounts
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.holding import LogId
from floe.model.offsets import Intervals, OffsetRange
from floe.model.plan import Plan, SliceKind
from floe.model.positions import PartitionBacklog, PositionMetadata
from tests.support.control.announcements import (
    GROUP,
    NETS,
    RANGES,
    announced,
    find,
    find_announcement,
    make,
    make_files,
    make_plan,
    make_share,
    sent,
    with_header,
)

BY_SAUCE = PartitionType((PartitionFieldType(1000, "sauce", "string"),))


def replacement() -> tuple[Plan, Announcement]:
    """Return a plan of a replacing replay, and an announcement of its slice."""
    (slice_,) = make_plan().slices
    plan = replace(make_plan(), positions=(), slices=(replace(slice_, kind=SliceKind.REPLACE),))
    seen = {LogId("pizzas", "T1", 0): Intervals(((12, 13), (15, 17)))}
    known = DeadLetterOffsets({"rpc.pizzas": {LogId("pizzas", "T1", 1): Intervals(((2, 3),))}})
    return plan, replace(make(replace(make_share(), seen=seen)), kind="replace", known=known)


@pytest.mark.parametrize(
    "all_table_files",
    [
        pytest.param((make_share(),), id="one table"),
        pytest.param((make_share(), make_share(table="rpc.toppings")), id="two tables"),
        pytest.param((make_share(table="a.b.c.pizzas"),), id="a deep namespace"),
        pytest.param(
            (
                make_share(
                    SpecFiles(0, PartitionType(), make_files(1)), SpecFiles(3, BY_SAUCE, make_files(2, "b", "light"))
                ),
            ),
            id="two specs",
        ),
    ],
)
def test_an_announcement_is_found_as_it_was_sent(all_table_files: tuple[TableFiles, ...]) -> None:
    announcement = make(*all_table_files)
    messages = announced(announcement)
    found = find(messages, *announcement.tables)
    assert found == replace(announcement, control_offset=(0, messages[-1].offset + 1))


def test_a_replacement_tells_what_its_writer_knew() -> None:
    plan, announcement = replacement()
    messages = sent(encode_announcement(plan, announcement))
    found = find_announcement(plan, plan.slices[0], messages, None)
    assert found == replace(announcement, control_offset=(0, messages[-1].offset + 1))


@pytest.mark.parametrize("name", [h.SEEN, h.KNOWN])
@pytest.mark.parametrize("value", ["", "{", "7", "[[1]]", '{"pizzas": 3}', {"pizzas": {"id": "T1", "ranges": [["a"]]}}])
def test_what_is_no_list_of_offsets_does_not_count(name: str, value: object) -> None:
    plan, announcement = replacement()
    messages = [with_header(m, name, value) for m in sent(encode_announcement(plan, announcement))]
    assert find_announcement(plan, plan.slices[0], messages, None) is None


def test_an_announcement_of_another_kind_does_not_count(reasons: Callable[..., str]) -> None:
    messages = [with_header(m, h.KIND, "replace") for m in announced(make(make_share()))]
    assert "its kind is 'replace', that of the plan 'live'" in reasons(messages)


def test_an_announcement_without_any_file_counts_and_has_books() -> None:
    announcement = make(idle=["rpc.pizzas"])
    messages = announced(announcement)
    assert len(messages) == 1
    found = find(messages)
    assert found is not None
    assert found.files == []
    assert found.tables == {"rpc.pizzas": TableAnnouncement(TableCounts())}


def test_table_without_files_beside_one_with_files_has_no_share() -> None:
    found = find(announced(make(make_share(), idle=["rpc.idle"])), "rpc.pizzas", "rpc.idle")
    assert found is not None
    assert [s.table for s in found.files] == ["rpc.pizzas"]
    assert set(found.tables) == {"rpc.pizzas", "rpc.idle"}


def test_refusing_table_is_announced_with_reason_loss_with_range() -> None:
    lost = (OffsetRange("pizzas", "T1", 0, 3, 10),)
    made = make(make_share(), idle=["rpc.gone"])
    gone = replace(made.tables["rpc.gone"], refused="it was dropped")
    announcement = replace(made, tables={**made.tables, "rpc.gone": gone}, lost=lost)
    found = find(announced(announcement), "rpc.pizzas", "rpc.gone")
    assert found is not None
    assert found.refused == {"rpc.gone": "it was dropped"}
    assert found.lost == lost
    assert found.tables == announcement.tables


def test_write_time_is_announced_only_where_it_is_given() -> None:
    plain = announced(make(make_share()))
    assert not any(h.WRITE_MS in message.headers for message in plain)
    found = find(announced(replace(make(make_share()), write_ms=1234)))
    assert found is not None
    assert found.write_ms == 1234


def test_dead_letters_are_read_back_and_foreign_ones_ignored(reasons: Callable[..., str]) -> None:
    log_id, first = LogId.of(RANGES[0]), RANGES[0].start
    dead_letters = DeadLetterOffsets.of(
        [("rpc.pizzas", log_id, Intervals(((first, first + 1),))), (None, log_id, Intervals(((first + 2, first + 4),)))]
    )
    found = find(announced(replace(make(make_share()), recovered=dead_letters, resolved=dead_letters)))
    assert found is not None
    assert (found.recovered, found.resolved) == (dead_letters, dead_letters)
    outside = DeadLetterOffsets.of([("rpc.pizzas", log_id, Intervals(((1, 10**6),)))])
    assert "letters" in reasons(announced(replace(make(make_share()), resolved=outside)))


def test_a_table_that_is_replaced_has_a_share_without_files_too() -> None:
    table_files = make_share(SpecFiles(0, PartitionType(), ()))
    plan = make_plan()
    plan = replace(plan, slices=(replace(plan.slices[0], kind=SliceKind.REPLACE),))
    found = find_announcement(plan, plan.slices[0], announced(replace(make(table_files), kind="replace")), None)
    assert found is not None
    assert found.files == [table_files]
    assert find(announced(make(table_files))) is None


def test_a_table_that_owes_a_partition_has_no_net_of_it() -> None:
    backlogs = {"rpc.pizzas": PartitionBacklog(2, "route")}
    metadata = PositionMetadata("routing", 0, "T1", "C1", backlogs=backlogs).encode()
    first, second = make_plan().positions
    plan = replace(make_plan(), positions=(first, replace(second, metadata=metadata)))
    table_files = replace(make_share(), new_ranges=NETS[:1])
    (found,) = (find_announcement(plan, plan.slices[0], announced(make(table_files)), None),)
    assert found is not None
    assert found.files[0].new_ranges == NETS[:1]
    both = replace(table_files, new_ranges=(NETS[0], (RANGES[1], Intervals(((1, 2),)))))
    assert find_announcement(plan, plan.slices[0], announced(make(both)), None) is None


def test_headers_and_bodies_are_those_of_the_design() -> None:
    first, complete = encode_announcement(make_plan(), make(make_share()))
    headers = dict(first.headers)
    assert headers["floe-v"] == "1"
    assert headers["floe-slice"] == "plan-1/0"
    assert headers["floe-kind"] == "live"
    assert headers["floe-part"] == "1/1"
    assert json.loads(str(headers["floe-net"])) == {"pizzas": {"id": "T1", "ranges": [[0, 12, 15], [0, 17, 20]]}}
    assert (headers["floe-branch"], headers["floe-spec-id"], headers["floe-schema-id"]) == ("main", "0", "4")
    assert dict(complete.headers).keys() == {
        "floe-v",
        "floe-slice",
        "floe-kind",
        "floe-ranges",
        "floe-tables",
        "floe-books",
    }
    events = [decode(record.value) for record in (first, complete)]
    assert {event.group_id for event in events} == {GROUP}
    assert {event.payload.commit_id for event in events} == {make_plan().commit_id}
    assert all(len(str(value)) < 10_000 for record in (first, complete) for _, value in record.headers)


@pytest.mark.parametrize("largest", [1, 9_000, 12_000])
def test_large_announcement_is_split_into_small_parts(monkeypatch: pytest.MonkeyPatch, largest: int) -> None:
    monkeypatch.setattr(module, "MAX_EVENT_BYTES", largest)
    table_files = make_share(
        SpecFiles(0, PartitionType(), make_files(21)), SpecFiles(1, BY_SAUCE, make_files(7, "b", "light"))
    )
    records = encode_announcement(make_plan(), make(table_files))
    parts = [dict(r.headers) for r in records[:-1]]
    assert [p["floe-part"] for p in parts] == [f"{i}/{len(parts)}" for i in range(1, len(parts) + 1)]
    assert all(len(r.value) <= largest for r in records) or largest == 1
    found = find(sent(records))
    assert found is not None
    assert [f for spec in found.files[0].files for f in spec.files] == [
        f for spec in table_files.files for f in spec.files
    ]
    assert {spec.spec_id: spec.partition_type for spec in found.files[0].files} == {
        0: PartitionType(),
        1: BY_SAUCE,
    }
    if largest == 1:
        assert len(parts) == 28
