"""Events of a stopped sink: which are pending, which are not, and which must not be passed over."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID, uuid4

import pytest

from floe.control.topic_reader import ControlMessage
from floe.control.wire.codec import encode
from floe.control.wire.events import (
    DataComplete,
    DataFile,
    DataWritten,
    Event,
    FileContent,
    Payload,
    StartCommit,
    TableReference,
)
from floe.tables.snapshot_summary import CommittedOffsets
from floe.takeover.exceptions import TakeoverRefused
from floe.takeover.pending_files import (
    Destination,
    PendingFiles,
    check_no_gap,
    collect,
    files_of,
    pending_of,
    written_by_sink,
)

GROUP = "connect-pizzas"
UUID_NOW = UUID(int=1)
COMMIT = UUID(int=9)


def file(name: str, rows: int = 5) -> DataFile:
    return DataFile(file_path=f"s3://lake/{name}.parquet", spec_id=0, record_count=rows, file_size_in_bytes=100)


def written(
    *names: str,
    at: int = 0,
    partition: int = 0,
    table: str = "pizzas",
    table_uuid: UUID | None = UUID_NOW,
    deletes: Iterable[DataFile] = (),
) -> PendingFiles:
    reference = TableReference("lake", ("rpc",), table, table_uuid)
    return PendingFiles(partition, at, DataWritten(COMMIT, reference, tuple(map(file, names)), tuple(deletes)))


def table(
    offsets: dict[int, int] | None = None,
    *,
    name: str = "rpc.pizzas",
    table_uuid: UUID | None = UUID_NOW,
    is_known: bool = True,
    is_own: bool = True,
) -> Destination:
    return Destination(name, table_uuid, CommittedOffsets(offsets or {}, is_known), is_own)


def message(payload: Payload, at: int = 0, group: str = GROUP, **headers: str) -> ControlMessage:
    renamed = {name.replace("_", "-"): value for name, value in headers.items()}
    return ControlMessage(0, at, str(uuid4()), encode(Event.of(group, payload)), renamed)


# -- reading ----------------------------------------------------------------------------------------------------------


def test_only_files_of_the_group_announced_by_sink_are_read() -> None:
    payload = written("a").payload
    messages = [
        message(StartCommit(COMMIT), 0),
        message(payload, 1),
        message(payload, 2, group="connect-other"),
        message(DataComplete(COMMIT, ()), 3),
        message(payload, 4, floe_v="1", floe_slice="p/0"),
        message(payload, 5),
    ]
    assert [one.offset for one in written_by_sink(messages, GROUP)] == [1, 5]


def test_a_message_that_cannot_be_read_may_hold_files() -> None:
    with pytest.raises(TakeoverRefused, match=r"0@7 .*cannot be read.*kafka-connect\.md"):
        list(written_by_sink([ControlMessage(0, 7, "k", b"no event", {})], GROUP))


def test_an_event_of_many_files_is_read_whatever_its_length() -> None:
    many = written(*(f"{i}-{'x' * 200}" for i in range(12_000)))
    encoded = _without_limit(many.payload)
    assert len(encoded) > 3_000_000
    (found,) = written_by_sink([ControlMessage(0, 0, "k", encoded, {})], GROUP)
    assert len(found.payload.data_files or ()) == 12_000


def _without_limit(payload: DataWritten) -> bytes:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("floe.control.wire.codec.MAX_MESSAGE_BYTES", 2**40)
        return encode(Event.of(GROUP, payload))


def test_an_unreadable_message_of_floe_s_is_passed_over() -> None:
    assert not list(written_by_sink([ControlMessage(0, 7, "k", b"no event", {"floe-v": "9"})], GROUP))


def test_events_that_their_table_has_are_dropped_table_by_table() -> None:
    tables = {"rpc.pizzas": table({0: 5}), "rpc.pasta": table({0: 2}, name="rpc.pasta")}
    events = [
        written("a", at=4),
        written("b", at=5),
        written("c", at=4, table="pasta"),
        written("d", at=0, partition=1),
    ]
    found = collect(events, tables.__getitem__)
    assert {name: [(one.partition, one.offset) for one in ones] for name, ones in found.items()} == {
        "rpc.pizzas": [(0, 5), (1, 0)],
        "rpc.pasta": [(0, 4)],
    }


def test_a_file_counts_once_and_one_without_records_not_at_all() -> None:
    empty = PendingFiles(0, 3, DataWritten(COMMIT, written().payload.table_reference, (file("z", 0),)))
    events = [written("a", "b", at=1), written("b", "c", at=2), empty]
    assert [f.file.file_path for f in files_of(events)] == [f"s3://lake/{n}.parquet" for n in "abc"]


# -- judging ----------------------------------------------------------------------------------------------------------


def test_events_without_commit_complete_are_pending_too() -> None:
    events = [written("a", at=10), written("b", at=12, table_uuid=None)]
    assert pending_of(table(), events, {}) == events


def test_event_skipped_by_coordinator_for_our_table_is_pending() -> None:
    """A coordinator without an offset begins at the control topic's end: what lies before it never commits."""
    events = [written("a", at=10)]
    assert pending_of(table(), events, {0: 50}) == events


@pytest.mark.parametrize(
    ("destination", "event", "reason"),
    [
        pytest.param(table(is_own=False), {}, "is not in iceberg.tables", id="a table of a route field"),
        pytest.param(table(table_uuid=None), {}, "does not exist", id="a missing table"),
        pytest.param(table(), {"table_uuid": UUID(int=2)}, "was replaced since", id="a replaced table"),
    ],
)
def test_unfit_files_are_refused_unless_the_sink_dropped_them(
    destination: Destination, event: dict[str, UUID], reason: str
) -> None:
    strays = [written("a", "b", at=10, **event)]
    with pytest.raises(TakeoverRefused, match=rf"2 announced file\(s\) .*0@10.*'rpc\.pizzas', which {reason}"):
        pending_of(destination, strays, {})
    with pytest.raises(TakeoverRefused, match=r"first at the event at 0@10"):
        pending_of(destination, strays, {0: 10})
    assert pending_of(destination, strays, {0: 11}) == []


def test_files_of_replaced_table_do_not_hide_those_of_new_one() -> None:
    old, new = written("a", at=10, table_uuid=UUID(int=2)), written("b", at=12)
    assert pending_of(table(), [old, new], {0: 11}) == [new]


def test_delete_files_are_refused() -> None:
    delete = DataFile(
        content=FileContent.EQUALITY_DELETES, file_path="s3://d", spec_id=0, record_count=1, file_size_in_bytes=1
    )
    with pytest.raises(TakeoverRefused, match=r"1 delete file.*floe writes no deletes"):
        pending_of(table(), [written("a", deletes=[delete])], {0: 99})


def test_an_event_without_files_is_nothing_whatever_its_table_is() -> None:
    assert pending_of(table(table_uuid=None), [written()], {}) == []


def test_coordinator_offsets_replace_those_of_expired_snapshots() -> None:
    events = [written("a", at=10), written("b", at=12)]
    assert pending_of(table(is_known=False), events, {0: 12}) == events[1:]
    with pytest.raises(TakeoverRefused, match="floe cannot determine whether the files were committed"):
        pending_of(table(is_known=False), events, {1: 99})
    assert pending_of(table(is_known=False), [], {}) == []


# -- gaps -------------------------------------------------------------------------------------------------------------


def test_control_topic_reaching_table_offsets_is_accepted() -> None:
    check_no_gap(table({0: 10}), {0: 10, 1: 0}, {0: 30, 1: 0}, {})


@pytest.mark.parametrize("coordinator", [{}, {0: 19}])
def test_control_topic_truncated_above_all_commits_is_refused(coordinator: dict[int, int]) -> None:
    with pytest.raises(TakeoverRefused, match=r"partition 0 .*starts at offset 20.*up to 10,.*deleted by retention"):
        check_no_gap(table({0: 10}), {0: 20}, {0: 30}, coordinator)


def test_rarely_written_table_is_accepted_by_coordinator_offset() -> None:
    check_no_gap(table({0: 10}), {0: 20}, {0: 30}, {0: 20})
    check_no_gap(table(), {0: 20}, {0: 30}, {0: 25})


def test_a_control_topic_that_was_created_anew_is_refused() -> None:
    with pytest.raises(TakeoverRefused, match=r"up to 10, but that ends at 3.*re-created.*new name"):
        check_no_gap(table({0: 10}), {0: 0}, {0: 3}, {0: 3})
