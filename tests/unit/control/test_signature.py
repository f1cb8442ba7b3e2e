"""Signed announcements: only what the plan's own writer announced is read, one attempt at a time."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from floe.control import announcement as module
from floe.control import announcement_reader
from floe.control import headers as h
from floe.control.announcement import Announcement, encode_announcement
from floe.control.announcement_reader import AnnouncementReader
from floe.control.data_files import SpecFiles
from floe.control.signature import Signature, is_signed, signed
from floe.control.topic_reader import ControlMessage
from floe.control.wire.codec import decode, encode
from floe.control.wire.events import Event, PartitionType, StartCommit
from floe.kafka.transactions import ControlRecord
from floe.model.plan_seal import DeploymentKey, PlanKey
from floe.modes.write_modes import mode_of
from tests.support.control.announcements import GROUP, find_announcement, make, make_files, make_plan, make_share, sent
from tests.support.cpu import least_cpu_seconds
from tests.support.keys import KEY

PLAN_KEY = KEY.plan_key("plan-1")
OTHER_KEY = DeploymentKey.of("x" * 32, "another deployment").plan_key("plan-1")

Messages = list[ControlMessage]


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Messages:
    """A true announcement of four parts."""
    monkeypatch.setattr(module, "MAX_EVENT_BYTES", 1)
    return announced("true", files=4)


def announced(name: str, key: PlanKey | None = PLAN_KEY, start: int = 7, files: int = 2) -> Messages:
    """Return an announcement as it is read back, whose files have this name."""
    table_files = make_share(SpecFiles(0, PartitionType(), make_files(files, name)))
    return sent(signed(key, encode_announcement(make_plan(), make(table_files))), start)


def find(messages: Messages, key: PlanKey | None = PLAN_KEY) -> Announcement | None:
    plan = make_plan(tables=("rpc.pizzas",))
    return find_announcement(plan, plan.slices[0], messages, key)


def name_of(found: Announcement | None) -> str:
    """Tell an announcement by its files."""
    assert found is not None
    return found.files[0].files[0].files[0].file_path.split("/")[-1].split("-")[0]


def test_signed_announcement_is_read_and_otherwise_as_before(parts: Messages) -> None:
    assert len(parts) == 5
    assert name_of(find(parts)) == "true"
    table_files = make_share(SpecFiles(0, PartitionType(), make_files(4, "true")))
    plain = encode_announcement(make_plan(), make(table_files))
    known = signed(PLAN_KEY, plain)
    assert [record.headers[:-1] for record in known] == [record.headers for record in plain]
    assert {record.headers[-1][0] for record in known} == {h.MAC}
    assert [record.value for record in known] == [record.value for record in plain]
    assert signed(None, plain) == plain


@pytest.mark.parametrize("forged", [announced("forged", None), announced("forged", OTHER_KEY)])
def test_forged_announcement_before_the_true_one_is_passed_by(
    forged: Messages, parts: Messages, caplog: pytest.LogCaptureFixture
) -> None:
    assert name_of(find([*forged, *parts])) == "true"
    assert "2 record(s)" in caplog.text
    assert "Check who may write to the control topic" in caplog.text
    assert find(forged) is None


def test_forged_records_between_parts_leave_the_true_one_whole(parts: Messages) -> None:
    forged = [*announced("forged", None), *announced("forged", OTHER_KEY)]
    assert name_of(find([one for part in parts for one in [*forged, part, *forged]])) == "true"


Change = Callable[[ControlMessage], ControlMessage]


def with_headers(message: ControlMessage, **headers: str) -> ControlMessage:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return message._replace(headers={**message.headers, **names})


CHANGES: dict[str, Change] = {
    "value": lambda m: m._replace(value=m.value + b"x"),
    "kind": lambda m: with_headers(m, floe_kind="append"),
    "new header": lambda m: with_headers(m, floe_lost="{}"),
    "net": lambda m: with_headers(m, floe_net="{}"),
    "no mac": lambda m: m._replace(headers={k: v for k, v in m.headers.items() if k != h.MAC}),
    "other mac": lambda m: with_headers(m, floe_mac=m.headers[h.MAC][:-1] + "g"),
    "other place": lambda m: with_headers(m, floe_mac=m.headers[h.MAC].replace("/5", "/6")),
    "other attempt": lambda m: with_headers(m, floe_mac="1:" + "0" * 16 + m.headers[h.MAC][18:]),
    "last of one": lambda m: with_headers(m, floe_mac=re.sub(":./5", ":1/1", m.headers[h.MAC])),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("at", [0, 2, 4])
def test_record_that_was_changed_does_not_count(parts: Messages, change: Change, at: int) -> None:
    spoilt = [*parts[:at], change(parts[at]), *parts[at + 1 :]]
    assert find(spoilt) is None
    assert name_of(find([*spoilt, *parts])) == "true"


def test_records_of_two_attempts_are_not_put_together(parts: Messages) -> None:
    again = announced("again", start=20, files=4)
    mixed = [*parts[:2], *again[2:]]
    assert find(mixed) is None
    assert name_of(find([*parts[:3], *again, *parts[3:]])) == "again"


@pytest.mark.parametrize("left_out", range(5))
def test_announcement_without_one_of_its_records_is_none(parts: Messages, left_out: int) -> None:
    assert find([one for i, one in enumerate(parts) if i != left_out]) is None


def test_copies_are_one_announcement_and_other_slices_get_none(parts: Messages) -> None:
    copies = [one._replace(offset=one.offset + 50) for one in parts]
    elsewhere = [one._replace(partition=1) for one in parts]
    assert find([*parts[:2], *copies, *elsewhere, *parts[2:]]) == find(copies)
    other_slice = [with_headers(one, floe_slice="plan-1/1") for one in parts]
    other_plan = replace(make_plan(), plan_id="plan-2")
    moved = [with_headers(one, floe_slice="plan-2/0") for one in parts]
    slice_ = replace(make_plan().slices[0], index=1)
    two = replace(make_plan(), slices=(*make_plan().slices, slice_))
    assert find_announcement(two, slice_, [*parts, *other_slice], PLAN_KEY) is None
    assert find_announcement(other_plan, other_plan.slices[0], moved, KEY.plan_key("plan-2")) is None


def test_parts_from_two_partitions_are_not_put_together(parts: Messages) -> None:
    assert find([*parts[:2], *[one._replace(partition=1) for one in parts[2:]]]) is None


def test_second_announcement_is_passed_over(parts: Messages, caplog: pytest.LogCaptureFixture) -> None:
    assert name_of(find([*parts, *announced("again", start=20), *announced("more", start=40)])) == "true"
    assert len([r for r in caplog.records if "announced again at 22" in r.message]) == 1


def test_forged_records_are_not_decoded(parts: Messages, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[bytes] = []
    monkeypatch.setattr(announcement_reader, "decode", lambda value: decoded.append(value) or decode(value))
    forged = announced("forged", OTHER_KEY) * 100
    start = sent([ControlRecord(b"junk", h.header_list("plan-1/0", "live"))])
    assert name_of(find([*start, *forged, *parts, *forged])) == "true"
    assert decoded == [one.value for one in parts]


def test_plan_without_a_seal_counts_unsigned_and_signed_records() -> None:
    assert name_of(find(announced("old", None), None)) == "old"
    assert name_of(find(announced("new"), None)) == "new"


def test_junk_of_an_unsigned_plan_is_named_twenty_times(caplog: pytest.LogCaptureFixture) -> None:
    true = announced("old", None)
    junk = [true[0]._replace(value=b"junk")] * 100
    assert name_of(find([*junk, *true], None)) == "old"
    assert len(caplog.records) == 21


def test_reader_takes_records_as_they_come(parts: Messages) -> None:
    plan = make_plan(tables=("rpc.pizzas",))
    reader = AnnouncementReader(plan, PLAN_KEY, mode_of)
    for one in parts[:-1]:
        reader.feed([one])
        assert not reader.found
    reader.feed(parts[-1:])
    assert name_of(reader.found["plan-1/0"]) == "true"


def test_single_record_signature_is_verified_by_deployment() -> None:
    body = encode(Event.of(GROUP, StartCommit(make_plan().commit_id)))
    (message,) = sent(signed(PLAN_KEY, [ControlRecord(body, h.header_list("plan-1/0", "live"))]))
    assert is_signed(KEY, message)
    assert not is_signed(KEY, with_headers(message, floe_slice="plan-2/0"))
    assert not is_signed(KEY, message._replace(value=b""))
    assert not is_signed(KEY, with_headers(message, floe_mac=""))


@pytest.mark.parametrize(
    "text", ["", "1", "2:" + "0" * 16 + ":1/1:" + "0" * 64, "1:0:1/1:0", "1:" + "٣" * 16 + ":1/1:0"]
)
def test_signature_that_is_none_is_not_read(text: str) -> None:
    assert Signature.of({h.MAC: text}) is None


def test_verifying_costs_milliseconds_a_megabyte() -> None:
    logging.disable()
    body = bytes(400_000)
    records = [ControlRecord(body, [*h.header_list("plan-1/0", "live"), (h.NEW_OFFSETS, "x" * 10_000)])] * 25
    messages = sent(signed(PLAN_KEY, records))

    def verify() -> None:
        for message in messages:
            signature = Signature.of(message.headers)
            assert signature is not None
            assert signature.is_last or signature.holds(PLAN_KEY, message)

    seconds = least_cpu_seconds(verify)
    logging.disable(logging.NOTSET)
    assert seconds / 10 < 0.005 * 4, "four times what is promised, for a machine at work"
