"""Keys as route values: decoded by their converter, each key of a batch once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floe.config.converters.base import API, ConverterSpec
from floe.config.converters.charsets import ENCODING
from floe.config.converters.kinds import AVRO, BYTES, JSON, STRING
from floe.config.properties import Properties
from floe.config.sections.routing import Routing
from floe.config.sections.tables import TableSettings
from floe.schema_registry.exceptions import SchemaMissing
from floe.schema_registry.schema import RegisteredSchema
from floe_job.contract.dead_letter import Rejected, dead_letters_of
from floe_job.contract.task import RouteRules
from floe_job.convert.context import ConverterContext
from floe_job.convert.plain.texts import UTF_8, text_reader
from floe_job.routing.destinations import Routed
from floe_job.routing.key_texts import KeyTexts, key_texts
from floe_job.routing.router import Router
from floe_job.source.record_batch import ParsedValues, RecordChanges, Records
from tests.support.avro import varint
from tests.support.job.converters import JSON_CONVERTERS, NO_REGISTRY
from tests.support.job.formats.avro_orders import registered
from tests.support.kafka.messages import PIECE, Message, records

JSON_KEY = ConverterSpec(JSON, role="key")
APICURIO_KEY = ConverterSpec(AVRO, Properties({API: "apicurio", "apicurio.registry.url": "http://r"}), "key")
CONFLUENT_KEY = ConverterSpec(
    AVRO,
    Properties(
        {
            API: "confluent",
            "schema.registry.url": "http://r",
            "key.schema.id.deserializer": "x.DualSchemaIdDeserializer",
        }
    ),
    "key",
)
TEXT_KEYS = [
    None,
    ConverterSpec(STRING, role="key"),
    ConverterSpec(STRING, Properties({ENCODING: "UTF8"}), "key"),
    ConverterSpec(BYTES, role="key"),
]


def rules(spec: ConverterSpec | None, *path: str, template: str = "db.{value}") -> RouteRules:
    return RouteRules(Routing("key", path, template=template), key_converter=spec)


def with_keys(*keys: bytes | None, headers: Sequence[tuple[tuple[str, bytes], ...]] = ()) -> Records:
    messages = [Message(i, key, headers[i] if headers else ()) for i, key in enumerate(keys)]
    return records(PIECE, [b"{}"] * len(keys), messages)


def read(rules: RouteRules, some: Records, context: ConverterContext = NO_REGISTRY) -> tuple[list[Any], list[Any]]:
    rejected, texts = key_texts(rules, context)(some)
    return [(one.index, one.stage, one.error) for one in rejected], texts.to_pylist()


def avro_of(schema_id: int) -> RegisteredSchema:
    if schema_id != 7:
        problem = f"the registry has no schema {schema_id}"
        raise SchemaMissing(problem, schema_id)
    return registered('{"type": "record", "name": "K", "fields": [{"name": "id", "type": "long"}]}')


AVRO_KEYS = ConverterContext(lambda _: avro_of)


@settings(max_examples=60)
@given(st.lists(st.none() | st.binary(max_size=4) | st.text(max_size=3).map(str.encode), max_size=20))
def test_keys_of_text_are_their_bytes_as_ever(keys: list[bytes | None]) -> None:
    bad, texts = [], []
    for place, key in enumerate(keys):  # as before keys were decoded
        try:
            texts.append(None if key is None else key.decode())
        except UnicodeDecodeError:
            bad.append(Rejected(place, "route", "the key is not UTF-8", "Unroutable"))
    for spec in TEXT_KEYS:
        rejected, found = key_texts(rules(spec), NO_REGISTRY)(with_keys(*keys))
        assert (list(rejected), found.to_pylist(), found.type) == (bad, texts, pa.large_string())


def test_keys_in_another_character_set_are_read_in_it() -> None:
    spec = ConverterSpec(STRING, Properties({ENCODING: "ISO-8859-1"}), "key")
    assert read(rules(spec), with_keys(b"\xe9", None)) == ([], ["é", None])


@settings(max_examples=60)
@given(
    st.lists(
        st.none()
        | st.sampled_from([b"{", b"\xff", b'"\xff"', b"null", b"1e3", b"nope", b'"\\u0041"', b"{}", b"-0"])
        | (st.integers() | st.booleans() | st.text(max_size=3)).map(lambda value: json.dumps(value).encode()),
        max_size=20,
    )
)
def test_keys_together_are_read_as_each_alone(keys: list[bytes | None]) -> None:
    rejected, texts = read(rules(JSON_KEY), with_keys(*keys))
    alone = [read(rules(JSON_KEY), with_keys(key)) for key in keys]
    assert texts == [text for _, found in alone for text in found]
    assert rejected == [(place, *one[1:]) for place, (bad, _) in enumerate(alone) for one in bad]


class CountingReader:
    """Reads keys as text, and keeps what it was given."""

    def __init__(self) -> None:
        self.given: list[bytes] = []

    def read(self, values: Sequence[bytes] | ParsedValues) -> tuple[Sequence[Rejected], pa.Array]:
        self.given += list(values)
        column = text_reader(UTF_8)(values)
        return [Rejected(place, "key_converter", why, "Malformed") for place, why in column.bad], column.values


def test_keys_that_repeat_are_decoded_once() -> None:
    reader = CountingReader()
    keys = [b"a", b"\xff", None, b"b", b"a", b"\xff", None] * 50
    rejected, texts = KeyTexts(reader)(with_keys(*keys))
    assert sorted(reader.given) == [b"a", b"b", b"\xff"]
    assert texts.to_pylist() == ["a", None, "b", "a", None] * 50
    assert [one.index for one in rejected] == [i for i in range(350) if i % 7 in (1, 5)]


def test_keys_without_any_text_are_all_rejected_or_null() -> None:
    assert read(rules(JSON_KEY), with_keys(b"{", b"{")) == (
        [(0, "key_converter", "Malformed"), (1, "key_converter", "Malformed")],
        [],
    )
    assert read(rules(JSON_KEY), with_keys(None, None)) == ([], [None, None])


def test_keys_have_ids_of_schemas_in_headers_of_their_own() -> None:
    good, other = (("apicurio.key.globalId", (7).to_bytes(8, "big")),), (("apicurio.value.globalId", bytes(8)),)
    some = with_keys(varint(42), varint(42), headers=[good, other])
    rejected, texts = read(rules(APICURIO_KEY, "id"), some, AVRO_KEYS)
    assert ([one[:2] for one in rejected], texts) == ([(1, "key_converter")], ["42"])
    named = with_keys(varint(42), headers=[(("__key_schema_id", b"\x00" + (7).to_bytes(4, "big")),)])
    assert read(rules(CONFLUENT_KEY, "id"), named, AVRO_KEYS) == ([], ["42"])


@pytest.mark.parametrize(("path", "texts"), [((), ["a", '{"id":"x"}', None]), (("id",), ["x", None])])
def test_keys_that_a_transform_wrote_are_text_or_json(path: tuple[str, ...], texts: list[str | None]) -> None:
    some = with_keys(b"1", b"2", None)
    keys = [b"a", b'{"id":"x"}', None]
    changed = some.changed(RecordChanges("pizzas", ParsedValues([{}, {}, {}]), keys))
    assert read(rules(APICURIO_KEY, *path), changed, AVRO_KEYS)[1] == texts


def test_key_reader_is_of_no_registry_where_keys_do_not_route() -> None:
    by_field = RouteRules(Routing("field", ("a",)), key_converter=APICURIO_KEY)
    assert read(by_field, with_keys(b"a")) == ([], ["a"])


# -- what becomes of the records ------------------------------------------------------------------------------------------


def route(rules: RouteRules, some: Records, context: ConverterContext = AVRO_KEYS) -> Routed:
    known = dict.fromkeys(("db.t42", "db.a", "a"))
    return Router(rules, known, JSON_CONVERTERS, key_texts(rules, context)).route(some)


def avro_key(number: int, schema_id: int = 7) -> bytes:
    return b"\x00" + schema_id.to_bytes(8, "big") + varint(number)


def test_record_goes_where_its_keys_field_says() -> None:
    some = with_keys(avro_key(42), None, avro_key(42)[:-1], avro_key(42), avro_key(1, 8))
    routed = route(rules(APICURIO_KEY, "id", template="db.t{value}"), some)
    assert {table: list(mine.offsets) for table, mine in routed.tables.items()} == {"db.t42": [0, 3]}
    assert [(one.index, one.reason) for one in routed.unroutable] == [(1, "it has no route value")]
    assert [(one.index, one.stage, one.error) for one in routed.malformed] == [
        (2, "key_converter", "Malformed"),
        (4, "key_converter", "UnknownSchema"),
    ]
    (first, _) = dead_letters_of(some, routed.malformed, None)
    assert (first.key, first.value, first.stage) == (avro_key(42)[:-1], b"{}", "key_converter")


def test_record_whose_key_has_no_such_text_is_unroutable() -> None:
    routed = route(rules(JSON_KEY, "a", "b"), with_keys(b'"x"', b'{"a":"x"}', b'{"a":{"b":"a"}}'))
    assert [index for index, _ in ((one.index, one) for one in routed.unroutable)] == [0, 1]
    assert routed.unroutable[1].reason.startswith("the route field 'a.b' of the key cannot be read: ")
    assert (routed.malformed, list(routed.tables)) == ([], ["db.a"])


def test_records_of_static_tables_match_the_keys_text() -> None:
    tables = (("a", TableSettings(route_regex="4.*")),)
    routed = route(RouteRules(Routing("key"), tables, key_converter=JSON_KEY), with_keys(b"42", b"5", b'"4x"', b"nope"))
    assert {table: list(mine.offsets) for table, mine in routed.tables.items()} == {"a": [0, 2]}
    assert (routed.filtered, [one.index for one in routed.malformed]) == (1, [3])
