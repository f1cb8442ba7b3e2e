"""Events to bytes and back."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fastavro import parse_schema, schemaless_writer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from floe.control.exceptions import EventDecodeError, EventEncodeError
from floe.control.wire.codec import HEAD, MAGIC, MAX_MESSAGE_BYTES, decode, encode
from floe.control.wire.events import (
    CommitComplete,
    CommitToTable,
    DataComplete,
    DataFile,
    DataWritten,
    Event,
    EventType,
    FileContent,
    PartitionFieldType,
    PartitionType,
    PartitionValue,
    Payload,
    StartCommit,
    TableReference,
    TopicPartitionOffset,
)
from floe.control.wire.modified_utf8 import from_modified_utf8, to_modified_utf8
from tests.support.control.event_facts import facts
from tests.support.control.strategies import EVENTS

GOLDENS = sorted((Path(__file__).parent / "goldens").glob("*.event"))
TODAY_S = [golden for golden in GOLDENS if golden.name.startswith("1.12.0")]

ID = UUID("00112233-4455-6677-8899-aabbccddeeff")
NOON = datetime(2024, 1, 2, 12, tzinfo=UTC)
TABLE = TableReference("iceberg", ("db",), "t", ID)
FILE = DataFile(file_path="s3://b/f.parquet", record_count=1, file_size_in_bytes=2)

thoroughly = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def event_of(payload: Payload) -> Event:
    return Event(ID, NOON, "connect-sink", payload)


def one_file(type_: str, value: PartitionValue) -> Event:
    partition_type = PartitionType((PartitionFieldType(1000, "p", type_),))
    return event_of(DataWritten(ID, TABLE, (replace(FILE, partition=(value,)),), (), partition_type))


def framed(schema: object, body: bytes = b"") -> bytes:
    header = to_modified_utf8(schema if isinstance(schema, str) else json.dumps(schema))
    return HEAD.pack(MAGIC, len(header)) + header + body


def schema_of(event: Event) -> dict[str, Any]:
    data = encode(event)
    schema: dict[str, Any] = json.loads(data[4 : 4 + HEAD.unpack_from(data)[1]])
    return schema


def body_of(event: Event) -> bytes:
    data = encode(event)
    return data[4 + HEAD.unpack_from(data)[1] :]


@contextmanager
def at_most(megabytes: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * 1_000_000
    finally:
        tracemalloc.stop()


# ---- what Java wrote ----


def test_there_are_messages_of_java_for_every_event_type() -> None:
    assert {decode(golden.read_bytes()).type for golden in TODAY_S} == set(EventType)
    assert len(GOLDENS) > len(TODAY_S)


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda golden: golden.stem)
def test_a_message_of_java_says_what_java_says_about_it(golden: Path) -> None:
    assert facts(decode(golden.read_bytes())) == json.loads(golden.with_suffix(".json").read_text())


@pytest.mark.parametrize("golden", TODAY_S, ids=lambda golden: golden.stem)
def test_a_message_of_java_is_written_again_to_the_byte(golden: Path) -> None:
    assert encode(decode(golden.read_bytes())) == golden.read_bytes()


def test_a_message_from_before_table_uuids_has_none() -> None:
    payload = decode(
        Path(__file__).with_name("goldens").joinpath("1.5.2-data_written_deletes.event").read_bytes()
    ).payload
    assert isinstance(payload, DataWritten)
    assert payload.table_reference.table_uuid is None
    assert [f.content for f in payload.delete_files or ()] == [
        FileContent.EQUALITY_DELETES,
        FileContent.POSITION_DELETES,
    ]


@pytest.mark.parametrize(
    ("payload", "schema_bytes"),
    [
        (StartCommit(ID), 577),
        (DataComplete(ID, ()), 1065),
        (CommitToTable(ID, TABLE), 1189),
        (CommitComplete(ID), 726),
        (DataWritten(ID, TABLE, ()), 8124),
    ],
)
def test_a_schema_is_as_long_as_that_of_the_sink(payload: Payload, schema_bytes: int) -> None:
    assert HEAD.unpack_from(encode(event_of(payload))) == (MAGIC, schema_bytes)


# ---- there and back ----


@thoroughly
@given(EVENTS)
def test_an_event_comes_back_as_it_went(event: Event) -> None:
    assert decode(encode(event)) == event


def test_a_decimal_comes_back_whatever_the_context_of_the_thread() -> None:
    value = Decimal("-99999999999999999999999999995.000000000")
    payload = decode(encode(one_file("decimal(38,9)", value))).payload
    assert isinstance(payload, DataWritten)
    assert payload.data_files is not None
    assert payload.data_files[0].partition == (value,)


def test_a_time_in_another_zone_is_the_same_time() -> None:
    tokyo = replace(event_of(StartCommit(ID)), timestamp=datetime(2024, 1, 2, 21, tzinfo=timezone(timedelta(hours=9))))
    assert decode(encode(tokyo)) == event_of(StartCommit(ID))


def test_an_event_of_now_survives_too() -> None:
    event = Event.of("connect-sink", StartCommit(ID))
    assert decode(encode(event)) == event


@given(st.text())
def test_modified_utf8_comes_back(text: str) -> None:
    assert from_modified_utf8(to_modified_utf8(text)) == text


def test_modified_utf8_has_two_bytes_for_nul_and_six_for_astral() -> None:
    assert to_modified_utf8("\0é名😀") == b"\xc0\x80" + "é名".encode() + b"\xed\xa0\xbd\xed\xb8\x80"
    with pytest.raises(UnicodeError):
        from_modified_utf8("😀".encode())


# ---- other versions ----


def test_fields_are_found_by_id_under_any_name_and_in_any_order() -> None:
    event = event_of(StartCommit(ID))
    schema = schema_of(event)
    for field in schema["fields"]:
        field["name"] = field["name"][::-1]
    schema["fields"].insert(0, schema["fields"].pop(3))
    group = b"\x18connect-sink"
    body = body_of(event)
    assert group in body
    assert decode(framed(schema, group + body.replace(group, b""))) == event


def test_fields_of_a_later_version_are_passed_over() -> None:
    event = event_of(DataComplete(ID, (TopicPartitionOffset("t", 0, 1),)))
    schema = schema_of(event)
    later = {"type": "array", "items": {"type": "map", "values": "string"}}
    schema["fields"].append({"name": "later", "type": later, "field-id": 10599})
    schema["fields"].append({"name": "kind", "type": {"type": "enum", "name": "E", "symbols": ["A"]}})
    addition = io.BytesIO()
    schemaless_writer(addition, parse_schema(later), [{"a": "b"}])
    assert decode(framed(schema, body_of(event) + addition.getvalue() + b"\0")) == event


def test_an_event_of_the_old_tabular_sink_is_named_as_such() -> None:
    fields: list[dict[str, object]] = [
        {"name": "id", "type": {"type": "fixed", "name": "uuid", "size": 16, "logicalType": "uuid"}, "field-id": "-1"},
        {"name": "type", "type": "int", "field-id": "-1"},
        {"name": "timestamp", "type": "long", "field-id": "-1"},
    ]
    namespace = "io.tabular.iceberg.connect.events"
    schema = {"type": "record", "name": "Event", "namespace": namespace, "fields": fields}
    with pytest.raises(EventDecodeError, match=r"Tabular's sink 0\.6\.16 or older.*0\.6\.17"):
        decode(framed(schema, ID.bytes + b"\0\0"))


def test_an_unknown_payload_is_named() -> None:
    text = json.dumps(schema_of(event_of(StartCommit(ID)))).replace("StartCommit", "StopCommit")
    with pytest.raises(EventDecodeError, match=r"events\.StopCommit' is no event that floe knows"):
        decode(framed(text, body_of(event_of(StartCommit(ID)))))


# ---- what cannot be written ----


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (replace(event_of(StartCommit(ID)), timestamp=datetime(2024, 1, 2)), "timestamp is datetime"),  # noqa: DTZ001
        (replace(event_of(StartCommit(ID)), group_id="\ud800"), "surrogates not allowed"),
        (event_of(StartCommit("x")), "payload.commit_id is 'x', not a UUID"),  # type: ignore[arg-type]
        (event_of(DataComplete(ID, (TopicPartitionOffset("t", 2**31),))), "assignments.partition is 2147483648"),
        (one_file("decimal(3,1)", Decimal("100")), r"partition.p is Decimal\('100'\), not a decimal\(3,1\)"),
        (one_file("decimal(3,1)", Decimal("0.01")), "partition.p is"),
        (one_file("fixed[3]", b"ab"), "not 3 bytes"),
        (one_file("date", "2024-01-02"), "not an integer of 32 bits"),
        (one_file("unknown", 1), "partition.p is 1, not None"),
        (one_file("float", 1e300), "not a float of 32 bits"),
        (one_file("struct<a:int>", None), "no Iceberg primitive type"),
        (one_file("decimal(39,1)", None), "no Iceberg primitive type"),
        (event_of(DataWritten(ID, TABLE, (replace(FILE, partition=(1,)),))), "each of the 0 partition fields"),
    ],
)
def test_what_a_field_cannot_hold_is_refused(event: Event, says: str) -> None:
    with pytest.raises(EventEncodeError, match=says):
        encode(event)


def test_partition_fields_equal_in_avro_are_refused() -> None:
    fields = (PartitionFieldType(1000, "a.b", "int"), PartitionFieldType(1001, "a_x2Eb", "int"))
    with pytest.raises(EventEncodeError, match="two partition fields have one Avro name"):
        encode(event_of(DataWritten(ID, TABLE, (), (), PartitionType(fields))))


def test_a_schema_beyond_what_its_length_can_say_is_refused() -> None:
    fields = tuple(PartitionFieldType(1000 + i, f"{i}-{'x' * 100}", "int") for i in range(400))
    with pytest.raises(EventEncodeError, match=r"has room for 65535"):
        encode(event_of(DataWritten(ID, TABLE, (), (), PartitionType(fields))))


def test_a_message_that_floe_would_not_read_is_not_written() -> None:
    files = (replace(FILE, key_metadata=bytes(MAX_MESSAGE_BYTES)),)
    with pytest.raises(EventEncodeError, match="announce in parts"):
        encode(event_of(DataWritten(ID, TABLE, files)))


# ---- what is no event ----


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
