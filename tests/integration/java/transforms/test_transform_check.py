"""The Java program that runs transforms: its answers are those of the documentation of each class."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import pytest

from tests.support.java.program import Ask, java_program
from tests.support.java.transforms.cases import FORMS
from tests.support.java.transforms.differences import RECORD, UNREAD, tally
from tests.support.java.transforms.given import Given, records
from tests.support.java.transforms.oracle import PACKAGES, PROGRAM, Refused, java_answers
from tests.support.java.transforms.setup import SCHEMALESS, TEXT, WITH_SCHEMA, Condition, Reader, Setup, Step
from tests.support.java.transforms.trees import java_tree, tree_of
from tests.support.job.formats.envelopes import envelope

KAFKA = "org.apache.kafka.connect.transforms"
ICEBERG = "org.apache.iceberg.connect.transforms"
VALUE = {"a": 1, "b": {"c": "x"}, "t": 1_700_000_000_123}


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """Ask the Java classes, in one process for all tests."""
    with java_program(PROGRAM, PACKAGES["relational"]) as one:
        yield one


def run(ask: Ask, kind: str, value: Any, reader: Reader = SCHEMALESS, **options: str) -> dict[str, Any]:
    """Return the answer for one record; ``_`` in options is a dot."""
    given = value if isinstance(value, bytes | None) else json.dumps(value).encode()
    record = Given("db.orders", 1, 7, 1_700_000_000_123, b'{"k":1}', given, (("h", b"1"), ("h", b"x")))
    step = Step(kind, {name.replace("_", "."): text for name, text in options.items()})
    (answer,) = java_answers(ask, Setup([step], value=reader), [record])
    return answer


SCHEMALESS_CASES: dict[str, tuple[Mapping[str, str], Any]] = {
    "Cast$Value": ({"spec": "a:string"}, {**VALUE, "a": "1"}),
    "ExtractField$Value": ({"field": "b"}, {"c": "x"}),
    "Flatten$Value": ({"delimiter": "_"}, {"a": 1, "b_c": "x", "t": 1_700_000_000_123}),
    "HoistField$Value": ({"field": "all"}, {"all": VALUE}),
    "InsertField$Value": (
        {"topic.field": "p", "offset.field": "o", "static.field": "s", "static.value": "v"},
        {**VALUE, "p": "db.orders", "o": 7, "s": "v"},
    ),
    "MaskField$Value": ({"fields": "a", "replacement": "9"}, {**VALUE, "a": 9}),
    "ReplaceField$Value": ({"exclude": "b", "renames": "a:z"}, {"z": 1, "t": 1_700_000_000_123}),
    "TimestampConverter$Value": (
        {"field": "t", "target.type": "string", "format": "yyyy-MM-dd"},
        {**VALUE, "t": "2023-11-14"},
    ),
    "SetSchemaMetadata$Value": ({"schema.name": "n"}, None),
}
"""Options of Kafka's transforms of values, and what they make of ``VALUE``; None: it is refused."""


@pytest.mark.parametrize("name", SCHEMALESS_CASES)
def test_transforms_of_values_give_what_they_should(ask: Ask, name: str) -> None:
    options, wanted = SCHEMALESS_CASES[name]
    answer = run(ask, f"{KAFKA}.{name}", VALUE, SCHEMALESS, **options)
    if wanted is None:
        assert "schema" in answer["refused"].lower()
    else:
        assert java_tree(answer["value"]["tree"]) == tree_of(wanted)
    assert "value" not in answer or (answer["topic"], answer["is_own_key"]) == ("db.orders", True)


def test_transforms_of_topics_headers_and_keys_work(ask: Ask) -> None:
    assert run(ask, f"{KAFKA}.RegexRouter", VALUE, regex="db[.](.*)", replacement="$1")["topic"] == "orders"
    routed = run(ask, f"{KAFKA}.TimestampRouter", VALUE, timestamp_format="yyyy")
    assert routed["topic"] == "db.orders-2023"
    assert run(ask, f"{KAFKA}.DropHeaders", VALUE, headers="h")["headers"] == []
    inserted = run(ask, f"{KAFKA}.InsertHeader", VALUE, header="n", value_literal="1.50")
    assert inserted["headers"] == [["h", b"1".hex()], ["h", b"x".hex()], ["n", b"1.5".hex()]]
    moved = run(ask, f"{KAFKA}.HeaderFrom$Value", VALUE, fields="a", headers="n", operation="move")
    assert moved["headers"][2] == ["n", b"1".hex()]
    keyed = run(ask, f"{KAFKA}.ValueToKey", VALUE, fields="a")
    assert (java_tree(keyed["key"]["tree"]), keyed["is_own_key"]) == (tree_of({"a": 1}), False)


def test_filter_leaves_out_what_its_predicate_says(ask: Ask) -> None:
    has_header = Condition(f"{KAFKA}.predicates.HasHeaderKey", {"name": "h"})
    given = [Given("t", 0, place, None, None, b"{}", (("h", None),) * place) for place in range(2)]
    for negate, wanted in ((False, [False, True]), (True, [True, False])):
        steps = [Step(f"{KAFKA}.InsertHeader", {"header": "i", "value.literal": "1"})]
        setup = Setup([*steps, Step(f"{KAFKA}.Filter", {}, has_header, negate)])
        answers = java_answers(ask, setup, given)
        assert [one.get("filtered") == 1 for one in answers] == wanted
    tombstone = Condition(f"{KAFKA}.predicates.RecordIsTombstone")
    empty = Given("t", 0, 0, None, None, None)
    assert java_answers(ask, Setup([Step(f"{KAFKA}.Filter", {}, tombstone)]), [empty]) == [{"filtered": 0}]


def test_schemas_are_kept_and_changed(ask: Ask) -> None:
    value = envelope([("a", "int32"), ("b", "string")], a=5, b="x")
    cast = run(ask, f"{KAFKA}.Cast$Value", value, WITH_SCHEMA, spec="a:int64")["value"]
    assert cast["value"] == {"a": "5", "b": b"x".hex()}
    assert [(name, one["type"]) for name, one in cast["schema"]["fields"]] == [("a", "int64"), ("b", "string")]
    named = run(ask, f"{KAFKA}.SetSchemaMetadata$Value", value, WITH_SCHEMA, schema_name="n", schema_version="3")
    assert (named["value"]["schema"]["name"], named["value"]["schema"]["version"]) == ("n", 3)


def test_iceberg_s_transforms_give_what_they_should(ask: Ask) -> None:
    copied = run(ask, f"{ICEBERG}.CopyValue", VALUE, source_field="a", target_field="z")
    assert java_tree(copied["value"]["tree"]) == tree_of({**VALUE, "z": 1})
    parsed = run(ask, f"{ICEBERG}.JsonToMapTransform", {"a": 1}, TEXT)
    assert parsed["value"]["value"] == {"a": "1"}
    metadata = {"operation": "insert", "timestamp": "2024-01-02T03:04:05Z", "schema-name": "s", "table-name": "t"}
    dms = run(ask, f"{ICEBERG}.DmsTransform", {"data": {"a": 1}, "metadata": metadata})
    cdc = dict(java_tree(dms["value"]["tree"])[1])[("text", "_cdc")]
    assert dict(cdc[1])[("text", "op")] == ("text", "I")
    source = {"db": "d", "schema": "s", "table": "t"}
    event = {"op": "c", "ts_ms": 5, "before": None, "after": {"a": 1}, "source": source}
    flat = run(ask, f"{ICEBERG}.DebeziumTransform", event)
    assert dict(java_tree(flat["value"]["tree"])[1])[("text", "a")] == ("integer", 1)


def test_wrong_options_refuse_all_records(ask: Ask) -> None:
    with pytest.raises(Refused, match="ConfigException"):
        run(ask, f"{KAFKA}.Cast$Value", VALUE, spec="a:nothing")
    with pytest.raises(Refused, match="no such class"):
        run(ask, "example.Missing", VALUE)
    assert "converter_error" in run(ask, f"{KAFKA}.HoistField$Value", b"{", field="x")


@pytest.mark.parametrize(
    ("jars", "kind", "form"),
    [
        ("relational", "io.debezium.transforms.ExtractNewRecordState", "debezium structs"),
        ("relational", f"{ICEBERG}.DebeziumTransform", "debezium structs"),
        ("relational", f"{ICEBERG}.DebeziumTransform", "debezium objects"),
        ("relational", f"{ICEBERG}.DmsTransform", "dms"),
        ("relational", f"{ICEBERG}.MongoDebeziumTransform", "mongodb structs"),
        ("relational", f"{ICEBERG}.JsonToMapTransform", "texts"),
        ("mongodb", "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState", "mongodb structs"),
    ],
)
def test_forms_are_those_that_their_transforms_read(jars: str, kind: str, form: str) -> None:
    one = FORMS[form]
    with java_program(PROGRAM, PACKAGES[jars]) as ask:
        answers = java_answers(ask, Setup([Step(kind)], one.value, one.key), records(one, Random(1), 200))
    fates = tally(answers)
    assert fates[UNREAD] == 0
    assert fates[RECORD] > 100, "most records are changed"
    assert fates[RECORD] < 200, "some records are refused or left out"
