"""Documents of MongoDB: Extended JSON, and rows out of change events."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isnan, nan
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField

from floe_job.convert.base import Parsed
from floe_job.convert.json.parse import parse_any
from floe_job.exceptions import TransformRefused
from floe_job.schema.proposal import ColumnRules, primitive
from floe_job.source.record_batch import ParsedValues
from floe_job.transform.batch import UNREAD, ParsedBatch, Readers
from floe_job.transform.chain import Chain
from floe_job.transform.documents.extended_json import Bson, DocumentKind, parse_document
from floe_job.types.typed_values import Moment
from tests.support.job.converters import JSON_CONVERTERS
from tests.support.job.transform_cases.change_data import event
from tests.support.job.transforms import transform
from tests.support.kafka.messages import PIECE, records

OID = "5d4a6f3b2c1e0f9a8b7c6d5e"


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("7", DocumentKind.INT32, 7),
        ("2147483648", DocumentKind.INT64, 2**31),
        ("1e2", DocumentKind.DOUBLE, 100.0),
        ('{"$numberLong":"-5"}', DocumentKind.INT64, -5),
        ('{"$numberInt":"+5"}', DocumentKind.INT32, 5),
        ('{"$numberDouble":"Infinity"}', DocumentKind.DOUBLE, float("inf")),
        ("Infinity", DocumentKind.DOUBLE, float("inf")),
        ("[-Infinity]", DocumentKind.ARRAY, [Bson(DocumentKind.DOUBLE, float("-inf"))]),
        ('{"$numberDecimal":"1E+3"}', DocumentKind.DECIMAL, "1E+3"),
        (f'{{"$oid":"{OID.upper()}"}}', DocumentKind.OBJECT_ID, OID),
        ('{"$date":"2024-01-02T03:04:05.6789+01:00"}', DocumentKind.DATE, 1_704_161_045_678),
        ('{"$date":"1970-01-02"}', DocumentKind.DATE, 86_400_000),
        ('{"$date":{"$numberLong":"-1"}}', DocumentKind.DATE, -1),
        ('{"$date":5}', DocumentKind.DATE, 5),
        ('{"$timestamp":{"t":3,"i":1}}', DocumentKind.TIMESTAMP, 3),
        ('{"$binary":{"base64":"aGk=","subType":"00"}}', DocumentKind.BINARY, b"hi"),
        ('{"$binary":"aGk=","$type":"0"}', DocumentKind.BINARY, b"hi"),
        ('{"$uuid":"00000000-0000-0000-0000-000000000001"}', DocumentKind.BINARY, bytes(15) + b"\1"),
        ('{"$regex":"a","$options":"mi"}', DocumentKind.PATTERN, ("a", "im")),
        ('{"$regularExpression":{"pattern":"a","options":""}}', DocumentKind.PATTERN, ("a", "")),
        ('{"$regex":"a"}', DocumentKind.DOCUMENT, {"$regex": Bson(DocumentKind.STRING, "a")}),
        ('{"$code":"x"}', DocumentKind.CODE, "x"),
        ('{"$minKey":1}', DocumentKind.OTHER, None),
        (
            '{"a":{"$x":1}}',
            DocumentKind.DOCUMENT,
            {"a": Bson(DocumentKind.DOCUMENT, {"$x": Bson(DocumentKind.INT32, 1)})},
        ),
        ("[null,true]", DocumentKind.ARRAY, [Bson(DocumentKind.NULL, None), Bson(DocumentKind.BOOLEAN, True)]),
    ],
)
def test_extended_json_is_read(text: str, kind: DocumentKind, value: Any) -> None:
    assert parse_document(f'{{"v":{text}}}') == {"v": Bson(kind, value)}


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "null",
            "7",
            "[1]",
            "{",
            '{"a":nan}',
            '{"a":NaNs}',
            '{"$oid":"x"}',
            '{"v":{"$oid":"x"}}',
            '{"v":{"$numberInt":"2147483648"}}',
        ),
        *(
            '{"v":{"$numberLong":5}}',
            '{"v":{"$date":"2024-02-30"}}',
            '{"v":{"$date":true}}',
            '{"v":{"$binary":{"base64":"a"}}}',
        ),
        *('{"v":{"$numberLong":"1","x":1}}', '{"v":123456789012345678901234567890}', '{"v":{"$undefined":false}}'),
        *(
            '{"v":{"$numberDecimal":"1e99999"}}',
            '{"v":{"$timestamp":{"t":4294967296,"i":1}}}',
            '{"v":' * 100 + "1" + "}" * 100,
        ),
        *('{"v":{"$uuid":"x"}}', '{"v":{"$date":"2024-01-02T03:04:05+19:00"}}', '{"v":{"$code":1}}', "{v:1}"),
        *('{"v":1e400}', '{"v":[-1e999]}', '{"v":{"$numberDouble":"1e400"}}'),
    ],
)
def test_what_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(TransformRefused):
        parse_document(text)


def applied(values: list[Any], keys: list[Any], **options: str) -> ParsedBatch:
    source = records(PIECE, [b"x" if value is not None else None for value in values])
    readers = Readers(UNREAD.values, lambda _, places: Parsed(ParsedValues([keys[at] for at in places]), ()))
    batch = replace(ParsedBatch.of(source, Parsed(ParsedValues(values), ())), readers=readers)
    return Chain.of([transform("ExtractNewDocumentState", **options)]).apply(batch)


def test_events_without_schemas_become_structs() -> None:
    key = {"id": f'{{"$oid":"{OID}"}}'}
    document = f'{{"_id":{{"$oid":"{OID}"}},"n":{{"$numberLong":"5"}},"at":{{"$date":7}},"tags":["a"],"in":{{"x":1}}}}'
    update = {"updatedFields": '{"n":6}', "removedFields": ["gone"]}
    values = [event("c", after=document), event("u", updateDescription=update), event("d"), None, {"ts_ms": 1}]
    done = applied(values, [key] * 5, add_fields="op", flatten_struct="true")
    row = {"_id": OID, "n": 5, "at": Moment(7000), "tags": ["a"], "in_x": 1, "__op": "c"}
    assert list(done.values) == [row, {"n": 6, "_id": OID, "__op": "u"}, None, {"ts_ms": 1}]
    assert [one["id"] for one in list(done.parsed_keys)] == [OID, OID, OID, key["id"]]
    assert done.filtered == 1


NOT_NUMBERS = (
    '{"_id":2,"x":NaN,"in":{"y":-Infinity},"l":[1.5,Infinity]}',
    '{"_id":2,"x":{"$numberDouble":"NaN"},"in":{"y":{"$numberDouble":"-Infinity"}},"l":[1.5,{"$numberDouble":"Infinity"}]}',
)


@pytest.mark.parametrize("has_table", [False, True])
@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_doubles_that_are_no_numbers_become_doubles(text: str, has_table: bool) -> None:
    key = {"id": "2"}
    update = {"updatedFields": '{"x":NaN}'}
    done = applied([event("c", after=text), event("u", updateDescription=update)], [key] * 2)
    assert not done.rejected
    create = JSON_CONVERTERS.for_table(None, ColumnRules(evolve=True), create=True)
    create.decode(done.values)
    schema = create.needs.new_schema()
    assert str(schema.find_type("in.y")) == str(schema.find_type("l.element")) == "double"
    decoded = JSON_CONVERTERS.for_table(schema, ColumnRules(evolve=has_table), create=False).decode(done.values)
    assert decoded.rejected == ()
    assert decoded.table is not None
    first, second = decoded.table.to_pylist()
    assert [isnan(row["x"]) for row in (first, second)] == [True, True]
    assert (first["in"], first["l"], second["in"]) == ({"y": -inf}, [1.5, inf], None)


def test_number_of_json_too_large_for_a_double_is_none_behind_a_transform() -> None:
    values = ParsedValues([parse_any(b'{"x":1e400}'), {"x": float("inf")}])
    create = JSON_CONVERTERS.for_table(None, ColumnRules(evolve=True), create=True)
    assert [one.index for one in create.decode(values).rejected] == [0]
    for kind in ("int", "long", "decimal(9, 2)", "timestamptz", "date", "boolean"):
        schema = Schema(NestedField(1, "x", primitive(kind), required=False))
        found = JSON_CONVERTERS.for_table(schema, ColumnRules(), create=False).decode(
            ParsedValues([{"x": nan}, {"x": inf}])
        )
        assert [one.index for one in found.rejected] == [0, 1], kind


def test_deletes_are_rewritten_with_their_id() -> None:
    options = {"delete_tombstone_handling_mode": "rewrite", "delete_tombstone_handling_mode_rewrite-with-id": "true"}
    done = applied([event("d")], [{"id": "5"}], **options)
    assert list(done.values) == [{"__deleted": True, "_id": 5}]


@pytest.mark.parametrize(
    "text", ['{"a":[1,"x"]}', '{"a":[[],[1]]}', '{"a":[{"b":null},{"b":1}]}', '{"a":[{"$minKey":1}]}']
)
def test_arrays_of_several_types_are_refused(text: str) -> None:
    done = applied([event("c", after=text)], [{"id": "5"}])
    assert len(done.rejected) == 1
    assert len(applied([event("c", after=text)], [{"id": "5"}], array_encoding="document")) == 1


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"tags":[1,"x"]}', "'tags'"),
        ('{"in":{"tags":[1,"x"]}}', "'in.tags'"),
        ('{"l":[{"b":1},{"b":"x"}]}', "'l.b'"),
        ('{"null":{"tags":[1,"x"]}}', "'null.tags'"),
        ('{"l":[{"c":{"tags":[[]]}}]}', "'l.c.tags'"),
        ('{"l":[{"$minKey":1}]}', "'l'"),
    ],
)
def test_array_that_is_refused_is_named_by_its_path(text: str, path: str) -> None:
    (rejected,) = applied([event("c", after=text)], [{"id": "5"}]).rejected
    assert f"the array {path} has " in rejected.reason
