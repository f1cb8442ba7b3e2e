"""Plain values into columns: what Kafka's serializers write, what is none of it, and that no table takes it."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from floe.config.converters.base import ConverterSpec, Role
from floe.config.converters.charsets import ENCODING
from floe.config.converters.kinds import BOOLEAN, BYTES, STRING
from floe.config.properties import Properties
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.makers import converters_of
from floe_job.convert.plain.decoder import PlainDecoder
from floe_job.schema.proposal import ColumnRules
from tests.support.job.converters import NO_REGISTRY
from tests.support.kafka.messages import values_of

ID = Schema(NestedField(1, "id", LongType(), required=False))


def texts(charset: str | None = None, role: Role = "value") -> PlainDecoder:
    return PlainDecoder(ConverterSpec(STRING, Properties({} if charset is None else {ENCODING: charset}), role))


def decoded(decoder: PlainDecoder, *values: bytes) -> tuple[list[Any], list[str]]:
    batch = decoder.decode(values_of(values))
    found = [value for part in batch.parts for value in part.column.to_pylist()]
    return found, [one.reason for one in batch.rejected]


@pytest.mark.parametrize(
    ("kind", "form", "least", "most"),
    [
        ("short", ">h", -(2**15), 2**15 - 1),
        ("int", ">i", -(2**31), 2**31 - 1),
        ("long", ">q", -(2**63), 2**63 - 1),
        ("float", ">f", -3.4028234663852886e38, float("inf")),
        ("double", ">d", -1.7976931348623157e308, float("-inf")),
    ],
)
def test_number_of_every_size_keeps_its_extremes(kind: str, form: str, least: float, most: float) -> None:
    size = struct.calcsize(form)
    given_bytes = [struct.pack(form, number) for number in (least, 0, most)]
    found, reasons = decoded(PlainDecoder(ConverterSpec(kind)), *given_bytes, b"\x00" * (size + 1))
    assert (found, reasons) == ([least, 0, most], [f"it has {size + 1} bytes: a value of type {kind} has {size}"])


def test_boolean_of_another_byte_is_rejected() -> None:
    found, reasons = decoded(PlainDecoder(ConverterSpec(BOOLEAN)), b"\x01", b"\xff", b"", b"\x00")
    assert found == [True, False]
    assert reasons == ["its byte is 0xff: a boolean's is 0x00 or 0x01", "it has 0 bytes: a value of type boolean has 1"]


def test_text_of_no_bytes_is_empty_and_no_null() -> None:
    assert decoded(texts(), b"", b"a", b"", b"\xf0\x9f\x8d\x95", b"") == (["", "a", "", "🍕", ""], [])
    assert decoded(PlainDecoder(ConverterSpec(BYTES)), b"", b"a", b"") == ([b"", b"a", b""], [])


def test_text_that_java_reads_with_replacements_is_rejected() -> None:
    assert decoded(texts(), b"a\xffb", b"\xc0\x80", b"ok") == (["ok"], ["it is not UTF-8"] * 2)


@pytest.mark.parametrize(
    ("charset", "value", "text"),
    [
        ("UTF8", "é".encode(), "é"),
        ("ISO-8859-1", b"\xe9\x80", "é\x80"),
        ("windows-1252", b"\x80", "€"),
        ("US-ASCII", b"a", "a"),
        ("Shift_JIS", b"\x82\xa0", "あ"),
        ("UTF-16", b"\x00a", "a"),
        ("UTF-16", b"\xff\xfea\x00", "a"),
        ("UTF-16LE", b"a\x00", "a"),
        ("UTF-32", b"\x00\x00\x00a", "a"),
        ("IBM01140", b"\x9f", "€"),
    ],
)
def test_text_in_another_character_set_is_read_as_java_does(charset: str, value: bytes, text: str) -> None:
    assert decoded(texts(charset), value) == ([text], [])


@pytest.mark.parametrize(
    ("charset", "value"), [("US-ASCII", b"\xe9"), ("windows-1252", b"\x81"), ("UTF-16BE", b"\xd8\x00")]
)
def test_text_that_is_not_in_its_character_set_is_rejected(charset: str, value: bytes) -> None:
    assert decoded(texts(charset), b"", value) == ([""], [f"it is not {charset}"])


def test_unknown_character_set_is_refused_with_the_option() -> None:
    with pytest.raises(ValueError, match=r"no character set 'rot13' is known: set converter\.encoding"):
        texts("rot13")


def test_schema_is_optional_and_the_stage_the_role() -> None:
    batch = texts(role="key").decode(values_of([b"a", b"\xff"]))
    assert [part.schema for part in batch.parts] == [ConnectSchema(Kind.STRING, optional=True)]
    assert [one.stage for one in batch.rejected] == ["key_converter"]


@given(st.lists(st.binary(max_size=5)))
def test_bytes_and_text_are_the_same_wherever_they_are(values: list[bytes]) -> None:
    for decoder in (PlainDecoder(ConverterSpec(BYTES)), texts()):
        one, other = decoder.decode(values), decoder.decode(values_of(values))
        assert one.rejected == other.rejected
        assert [part.column for part in one.parts] == [part.column for part in other.parts]
    assert decoded(PlainDecoder(ConverterSpec(BYTES)), *values) == (values, [])


def test_table_takes_no_value_without_fields() -> None:
    converters = converters_of(ConverterSpec(STRING), NO_REGISTRY)
    found = converters.for_table(ID, ColumnRules(evolve=True), create=False).decode(values_of([b"a", b"\xff", b"b"]))
    assert found.table is not None
    assert found.table.num_rows == 0
    assert [(one.index, one.stage, one.error) for one in found.rejected] == [
        (0, "coerce", "NoStruct"), (1, "value_converter", "Malformed"), (2, "coerce", "NoStruct")
    ]  # fmt: skip
    assert found.rejected[0].reason == "the value is of type string: only a struct, which has fields, makes a row"


def test_new_table_is_not_made_of_values_without_fields() -> None:
    new = converters_of(ConverterSpec("long"), NO_REGISTRY).for_table(None, ColumnRules(), create=True)
    decoded = new.decode(values_of([bytes(8)]))
    assert (decoded.table, bool(new.needs), len(decoded.rejected)) == (None, False, 1)


def test_whole_values_keep_their_places_and_tombstones() -> None:
    parsed = converters_of(ConverterSpec("int"), NO_REGISTRY).whole([None, bytes(4), b"x"])
    assert (list(parsed.values), [one.index for one in parsed.rejected]) == ([None, 0, None], [2])


def test_route_field_of_values_without_fields_is_rejected() -> None:
    rejected, found = converters_of(ConverterSpec(STRING), NO_REGISTRY).for_field(("to",)).read(values_of([b"a"]))
    assert ([one.index for one in rejected], found) == ([0], pa.array([], pa.large_string()))
