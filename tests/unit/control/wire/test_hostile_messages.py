"""Bytes that are no event are refused, whatever they claim, in bounded memory."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floe.control.exceptions import EventDecodeError
from floe.control.wire.codec import HEAD, MAGIC, MAX_MESSAGE_BYTES, decode, encode
from floe.control.wire.events import DataComplete, Event, StartCommit
from tests.support.control.messages import GOLDENS, ID, body_of, event_of, framed, schema_of, thoroughly


@contextmanager
def at_most(megabytes: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda golden: golden.stem)
def test_a_message_cut_anywhere_is_refused(golden: Path) -> None:
    whole = golden.read_bytes()
    body = 4 + HEAD.unpack_from(whole)[1]
    for end in [*range(0, body, 499), *range(body, len(whole))]:
        with pytest.raises(EventDecodeError):
            decode(whole[:end])
    with pytest.raises(EventDecodeError, match="ends 1 bytes before its message does"):
        decode(whole + b"\0")


@given(st.binary())
def test_noise_is_refused(noise: bytes) -> None:
    for data in (noise, MAGIC + noise, framed(schema_of(event_of(StartCommit(ID))), noise)):
        with pytest.raises(EventDecodeError):
            decode(data)


@thoroughly
@given(st.sampled_from(GOLDENS), st.data())
def test_a_damaged_message_is_refused_or_says_something_else(golden: Path, data: st.DataObject) -> None:
    message = bytearray(golden.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    try:
        assert isinstance(decode(bytes(message)), Event)
    except EventDecodeError as error:
        assert str(error)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["record", "array", "int", "fixed"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "name", "fields", "items", "size", "field-id"]), inner, max_size=4)
    ),
)


@thoroughly
@given(JSON)
def test_any_other_json_in_front_is_refused(schema: object) -> None:
    with pytest.raises(EventDecodeError):
        decode(framed(schema, bytes(64)))


def record(name: str, *types: object) -> dict[str, object]:
    return {"type": "record", "name": name, "fields": [{"name": f"f{i}", "type": t} for i, t in enumerate(types)]}


def doubling() -> dict[str, object]:
    types: list[object] = [record("r0", "null", "null")]
    types += [record(f"r{i}", f"r{i - 1}", f"r{i - 1}") for i in range(1, 30)]
    return record("top", *types)


def chain(length: int) -> dict[str, object]:
    return record("top", record("r0", "int"), *(record(f"r{i}", f"r{i - 1}") for i in range(1, length)))


MANY = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
"""2^63 - 1 as Avro writes it."""


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ("[" * 65_000, "RecursionError|recursion"),
        ('{"type":' * 8_000, None),
        ("9" * 60_000, None),
        ("null", None),
        (record("r", {"type": "array", "items": "null"}), "too much of too few bytes"),
        (record("r", {"type": "array", "items": record("e")}), "too much of too few bytes"),
        (record("r", {"type": "array", "items": {"type": "fixed", "name": "z", "size": 0}}), "too much of too few"),
        (record("r", {"type": "array", "items": record("e", "int", *["null"] * 500)}), "too much of too few bytes"),
        (record("r", {"type": "map", "values": record("e", *["null"] * 500)}), "too much of too few bytes"),
        (record("r", ["null", "r"]), "recursive"),
        (record("r", {"type": "fixed", "name": "z", "size": -1}), "has the size -1"),
        (record("r", record("a"), record("a")), "defined twice"),
        (record("r", "nowhere"), "unknown"),
        (record("r", []), None),
        (doubling(), "too much of too few bytes"),
        (chain(400), "nests deeper than 32"),
    ],
)
def test_a_schema_that_asks_for_too_much_is_refused(schema: object, says: str | None) -> None:
    with at_most(megabytes=30), pytest.raises(EventDecodeError, match=says):
        decode(framed(schema, MANY * 10))


def test_array_claiming_endless_elements_ends_with_the_message() -> None:
    event = event_of(DataComplete(ID, ()))
    body = body_of(event)
    assert body.endswith(b"\x02\0")
    with at_most(megabytes=5), pytest.raises(EventDecodeError, match="DATA_COMPLETE cannot be read"):
        decode(framed(schema_of(event), body[:-1] + MANY + bytes(1000)))


def test_a_text_that_claims_to_be_endless_ends_with_the_message() -> None:
    event = event_of(StartCommit(ID))
    body = body_of(event).replace(b"\x18connect-sink", MANY)
    with at_most(megabytes=5), pytest.raises(EventDecodeError):
        decode(framed(schema_of(event), body))


def test_costliest_schema_needs_memory_in_proportion() -> None:
    event = event_of(StartCommit(ID))
    schema = schema_of(event)
    schema["fields"].append({"name": "later", "type": {"type": "array", "items": record("e", "boolean")}})
    count = b"\x80\x89\x7a"  # 1,000,000
    with at_most(megabytes=300):
        assert decode(framed(schema, body_of(event) + count + b"\x01" * 1_000_000 + b"\0")) == event


def test_an_oversized_message_is_refused_unread() -> None:
    with pytest.raises(EventDecodeError, match="longer than floe reads"):
        decode(encode(event_of(StartCommit(ID))) + bytes(MAX_MESSAGE_BYTES))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"string", "field-id": 10503', '"bytes", "field-id": 10503', "group_id is b'connect-sink', not a str"),
        ('"field-id": 10503', '"field-id": 10502', "has a field id twice"),
        ('"field-id": 10503', '"field-id": 1', "group_id is None, not a str"),
        ('"field-id": 10503', '"field-id": true', "has the id True"),
        ('"type": "int", "field-id": 10501', '"type": "long", "field-id": 10501', ""),
    ],
)
def test_a_field_of_another_type_or_id_is_named(old: str, new: str, says: str) -> None:
    event = event_of(StartCommit(ID))
    text = json.dumps(schema_of(event))
    assert old in text
    if not says:
        assert decode(framed(text.replace(old, new), body_of(event))) == event
        return
    with pytest.raises(EventDecodeError, match=says):
        decode(framed(text.replace(old, new), body_of(event)))


def test_a_type_that_does_not_go_with_the_payload_is_refused() -> None:
    event = event_of(StartCommit(ID))
    body = bytearray(body_of(event))
    body[16] = 2
    with pytest.raises(EventDecodeError, match="is 1, not 0, the type of StartCommit"):
        decode(framed(schema_of(event), bytes(body)))
