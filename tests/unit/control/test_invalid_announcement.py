"""Announcements that do not count, and what else is in the control topic."""

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floe.control import announcement as module
from floe.control import headers as h
from floe.control.announcement import encode_announcement
from floe.control.data_files import SpecFiles
from floe.control.topic_reader import ControlMessage
from floe.control.wire.codec import decode, encode
from floe.control.wire.events import DataWritten, Event, FileContent, PartitionType, StartCommit
from floe.kafka.transactions import ControlRecord
from tests.support.control.announcements import (
    GROUP,
    announced,
    find,
    make,
    make_files,
    make_plan,
    make_share,
    sent,
    with_header,
)


def without_header(message: ControlMessage, name: str) -> ControlMessage:
    return message._replace(headers={n: v for n, v in message.headers.items() if n != name})


def test_nothing_sent_is_nothing_found() -> None:
    assert find([]) is None
    assert find(announced(make(make_share()))[:-1]) is None


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_an_announcement_without_one_of_its_parts_does_not_count(
    monkeypatch: pytest.MonkeyPatch, reasons: Callable[..., str], missing: int
) -> None:
    monkeypatch.setattr(module, "MAX_EVENT_BYTES", 1)
    messages = announced(make(make_share(SpecFiles(0, PartitionType(), make_files(3)))))
    del messages[missing]
    assert "rpc.pizzas" in reasons(messages)


def test_parts_out_of_order_or_twice_do_not_count(monkeypatch: pytest.MonkeyPatch, reasons: Callable[..., str]) -> None:
    monkeypatch.setattr(module, "MAX_EVENT_BYTES", 1)
    first, second, complete = announced(make(make_share()))
    assert "expected" in reasons([second, first, complete])
    reasons([first, first, complete])
    reasons([first, second, second, complete])


def test_incomplete_announcement_before_complete_one_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_EVENT_BYTES", 1)
    broken = announced(make(make_share()))
    whole = make(make_share(SpecFiles(0, PartitionType(), make_files(3, "second"))))
    found = find([broken[0], broken[-1], *announced(whole, 20)])
    assert found is not None
    assert {f.file_path for spec in found.files[0].files for f in spec.files} == {
        f"/wh/second-{i}.parquet" for i in range(3)
    }


def test_a_second_announcement_is_passed_over_and_said(caplog: pytest.LogCaptureFixture) -> None:
    first = make(make_share())
    second = make(make_share(SpecFiles(0, PartitionType(), make_files(3, "second"))))
    with caplog.at_level(logging.WARNING):
        found = find([*announced(first), *announced(second, 20)])
    assert found == replace(first, control_offset=(0, 9))
    assert "announced again at 21; the first announcement is used" in caplog.text


@pytest.mark.parametrize(
    "ranges",
    [
        {},
        {"pizzas": {"id": "T1", "ranges": [[0, 10, 20]]}},
        {"pizzas": {"id": "T1", "ranges": [[0, 10, 20], [1, 0, 6]]}},
        {"pizzas": {"id": "T2", "ranges": [[0, 10, 20], [1, 0, 5]]}},
        {"pizzas": {"id": "T1", "ranges": [[0, 10, 20], [1, 0, 5], [2, 0, 5]]}},
        {"pizzas": {"id": "T1", "ranges": [[0, 10, 20], [1, 0, 5], [1, 0, 5]]}},
        {"others": {"id": "T1", "ranges": [[0, 10, 20], [1, 0, 5]]}},
    ],
)
def test_other_ranges_than_the_slices_do_not_count(reasons: Callable[..., str], ranges: object) -> None:
    *parts, complete = announced(make(make_share()))
    assert "not those of the plan" in reasons([*parts, with_header(complete, h.RANGES, ranges)])


@pytest.mark.parametrize("planned", [("rpc.toppings",), ("rpc.pizzas", "rpc.toppings"), ("rpc.pizza",)])
def test_other_tables_than_the_slices_do_not_count(reasons: Callable[..., str], planned: tuple[str, ...]) -> None:
    assert "its tables ['rpc.pizzas'] are not those of the plan" in reasons(announced(make(make_share())), *planned)


def test_more_tables_than_the_slices_do_not_count(reasons: Callable[..., str]) -> None:
    messages = announced(make(make_share(), idle=["rpc.more"]))
    assert "['rpc.more', 'rpc.pizzas'] are not those of the plan ['rpc.pizzas']" in reasons(messages)


@pytest.mark.parametrize(
    "new_offsets",
    [
        {"pizzas": {"id": "T1", "ranges": [[0, 9, 15]]}},
        {"pizzas": {"id": "T1", "ranges": [[0, 12, 21]]}},
        {"pizzas": {"id": "T2", "ranges": [[0, 12, 15]]}},
        {"pizzas": {"id": "T1", "ranges": [[5, 12, 15]]}},
        {"others": {"id": "T1", "ranges": [[0, 12, 15]]}},
        {"pizzas": {"id": "T1", "ranges": [[0, 15, 12]]}},
    ],
)
def test_a_net_outside_the_ranges_does_not_count(reasons: Callable[..., str], new_offsets: object) -> None:
    part, complete = announced(make(make_share()))
    reasons([with_header(part, h.NEW_OFFSETS, new_offsets), complete])


def test_files_of_a_table_that_is_not_listed_do_not_count(reasons: Callable[..., str]) -> None:
    listed, forged = announced(make(make_share())), announced(make(make_share(table="rpc.forged")))
    assert "rpc.forged" in reasons([listed[0], forged[0], listed[-1]])


def test_a_listed_table_without_its_part_does_not_count(reasons: Callable[..., str]) -> None:
    messages = announced(make(make_share(), make_share(table="rpc.toppings")))
    assert "rpc.toppings" in reasons([messages[0], messages[2]], "rpc.pizzas", "rpc.toppings")


def test_table_listed_without_files_but_with_parts_is_invalid(reasons: Callable[..., str]) -> None:
    part, complete = announced(make(make_share()))
    tables = {"rpc.pizzas": {"files": 0}}
    assert "does not list" in reasons([part, with_header(complete, h.TABLES, tables)])


def test_a_table_with_rows_but_without_files_does_not_count(reasons: Callable[..., str]) -> None:
    (complete,) = announced(make(idle=["rpc.pizzas"]))
    tables = {"rpc.pizzas": {"files": 0, "rows": 5, "assigned": 5}}
    assert "rpc.pizzas" in reasons([with_header(complete, h.TABLES, tables)])


@pytest.mark.parametrize("change", [{"rows": 5}, {"files": 3}, {"files": 1}, {"rows": 7}])
def test_counts_that_are_not_those_of_the_files_do_not_count(
    reasons: Callable[..., str], change: dict[str, int]
) -> None:
    part, complete = announced(make(make_share()))
    tables = json.loads(complete.headers[h.TABLES])
    tables["rpc.pizzas"] |= change
    assert "rpc.pizzas" in reasons([part, with_header(complete, h.TABLES, tables)])


def test_delete_files_do_not_count(reasons: Callable[..., str]) -> None:
    part, complete = announced(make(make_share()))
    event = decode(part.value)
    assert isinstance(event.payload, DataWritten)
    deletes = (replace(make_files(1, "d")[0], content=FileContent.POSITION_DELETES),)
    forged = encode(Event.of(GROUP, replace(event.payload, delete_files=deletes)))
    assert "delete files" in reasons([part._replace(value=forged), complete])


@pytest.mark.parametrize("key", [None, "", "connect-other"])
def test_records_under_another_key_are_not_ours(key: str | None) -> None:
    assert find(sent(encode_announcement(make_plan(), make(make_share())), key=key)) is None


def test_events_of_another_group_are_not_ours_even_under_our_key() -> None:
    foreign = replace(make_plan(), group_id="connect-other")
    assert find(sent(encode_announcement(foreign, make(make_share())))) is None


def test_other_slices_and_records_without_headers_are_ignored() -> None:
    messages = announced(make(make_share()))
    others = [with_header(m, h.SLICE, "plan-1/1") for m in messages]
    java = [m._replace(headers={}) for m in messages]
    assert find([*others, *java]) is None
    assert find([*others, *java, *messages]) is not None


def test_informational_events_of_the_slice_are_passed_over() -> None:
    headers = h.header_list("plan-1/0", "live")
    start = sent([ControlRecord(encode(Event.of(GROUP, StartCommit(uuid4()))), headers)])
    part, complete = announced(make(make_share()))
    assert find([*start, part, *start, complete]) is not None


@pytest.mark.parametrize("name", [h.RANGES, h.TABLES, h.COUNTS])
@pytest.mark.parametrize(
    "value", ["", "not json", "null", "5", "[]", "[1]", '"x"', '{"a":1}', '{"rpc.pizzas":5}', "[[1,2,3]]", "[" * 9000]
)
def test_garbage_in_a_header_of_the_end_does_not_count(name: str, value: str) -> None:
    part, complete = announced(make(make_share()))
    found = find([part, with_header(complete, name, value)])
    assert found is None or (name == h.COUNTS and found.counts == ())


@pytest.mark.parametrize("name", [h.NEW_OFFSETS, h.ROUTE, h.SPEC_ID, h.SCHEMA_ID, h.PART])
@pytest.mark.parametrize(
    "value", ["", "not json", "null", "Infinity", "[1]", '"x"', '{"pizzas":1}', '{"pizzas":{"id":"T1"}}', "[" * 9000]
)
def test_garbage_in_a_header_of_a_part_does_not_count(name: str, value: str) -> None:
    part, complete = announced(make(make_share()))
    found = find([with_header(part, name, value), complete])
    assert found is None or (name == h.ROUTE and found.files[0].routes.keys() == {"pizzas"})


@pytest.mark.parametrize("name", [h.NEW_OFFSETS, h.ROUTE, h.SPEC_ID, h.SCHEMA_ID, h.PART, h.BRANCH])
def test_a_part_without_one_of_its_headers_does_not_count(reasons: Callable[..., str], name: str) -> None:
    part, complete = announced(make(make_share()))
    reasons([without_header(part, name), complete])


def test_a_route_is_needed_for_every_topic(reasons: Callable[..., str]) -> None:
    part, complete = announced(make(make_share()))
    assert "route" in reasons([with_header(part, h.ROUTE, {"others": "r"}), complete])


@given(st.binary(max_size=200))
def test_garbage_with_valid_headers_is_ignored(body: bytes) -> None:
    messages = announced(make(make_share()))
    garbage = messages[0]._replace(value=body)
    found = find([garbage, *messages])
    assert found is not None
    assert find([garbage, messages[-1]]) is None


@given(st.integers(0, 500), st.binary(min_size=1, max_size=4), st.booleans())
def test_events_spoilt_on_the_way_never_stop_the_search(at: int, spoilt: bytes, complete: bool) -> None:
    messages = announced(make(make_share()))
    target = messages[-1 if complete else 0]
    at = len(target.value) - 1 - at % len(target.value)
    body = target.value[:at] + spoilt + target.value[at + len(spoilt) :]
    find([target._replace(value=body), *messages])


def test_books_are_those_of_the_ranges() -> None:
    part, complete = announced(make(make_share()))
    forged: list[Any] = [["pizzas", 9, {"routed": 1}]]
    assert find([part, with_header(complete, h.COUNTS, forged)]) is None
