"""Events to bytes and back."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pytest
from fastavro import parse_schema, schemaless_writer
from hypothesis import given
from hypothesis import strategies as st

from floe.control.exceptions import EventDecodeError, EventEncodeError
from floe.control.wire.avro_schema import from_modified_utf8, to_modified_utf8
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
from tests.support.control.event_facts import facts
from tests.support.control.messages import GOLDENS, ID, body_of, event_of, framed, schema_of, thoroughly
from tests.support.control.strategies import EVENTS

TODAY_S = [golden for golden in GOLDENS if golden.name.startswith("1.12.0")]


TABLE = TableReference("iceberg", ("db",), "t", ID)


FILE = DataFile(file_path="s3://b/f.parquet", record_count=1, file_size_in_bytes=2)


def one_file(type_: str, value: PartitionValue) -> Event:
    partition_type = PartitionType((PartitionFieldType(1000, "p", type_),))
    return event_of(DataWritten(ID, TABLE, (replace(FILE, partition=(value,)),), (), partition_type))


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
