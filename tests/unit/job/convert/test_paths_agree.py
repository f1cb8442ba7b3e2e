"""The columnar path has the result of the exact path, whatever the records are."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema, assign_fresh_schema_ids, index_by_id
from pyiceberg.table import Table
from pyiceberg.table.name_mapping import MappedField, NameMapping
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from floe.parquet.layout import FileLayout
from floe_job.convert import Decoded, JsonDecoder
from floe_job.convert.json import template_reader
from floe_job.convert.json.fallbacks import NotExact
from floe_job.exceptions import SchemaConflict
from floe_job.schema.rules import ColumnRules


@pytest.fixture(autouse=True, scope="module", params=[0, template_reader.MIN_BYTES], ids=["by skeletons", "parsed"])
def fewest_bytes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Read also small chunks of like records as large ones are read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(template_reader, "MIN_BYTES", request.param)
        yield


NAMES = ["a", "b", "c", "q.b", "Ä", "element", "a b"]

primitives = st.sampled_from(
    [
        BooleanType(),
        IntegerType(),
        LongType(),
        FloatType(),
        DoubleType(),
        StringType(),
        DateType(),
        TimeType(),
        TimestampType(),
        TimestamptzType(),
        DecimalType(4, 2),
        DecimalType(9, 2),
        DecimalType(38, 10),
        DecimalType(38, 38),
        UUIDType(),
        BinaryType(),
        FixedType(2),
    ]
)


def structs(types: st.SearchStrategy[IcebergType]) -> st.SearchStrategy[StructType]:
    field = st.tuples(st.sampled_from(NAMES), types, st.booleans())
    return st.lists(field, min_size=1, max_size=4, unique_by=lambda drawn: drawn[0]).map(
        lambda fields: StructType(
            *(
                NestedField(100 + i, name, of, required=required and i == 1)
                for i, (name, of, required) in enumerate(fields)
            )
        )
    )


types = st.recursive(
    primitives,
    lambda inner: st.one_of(
        structs(inner),
        st.builds(lambda of, required: ListType(100, of, element_required=required), inner, st.booleans()),
        inner.map(lambda of: MapType(100, StringType(), 101, of, value_required=False)),
    ),
    max_leaves=4,
)
schemas = structs(types).map(lambda struct: assign_fresh_schema_ids(Schema(*struct.fields)))

numbers = (
    st.sampled_from(
        [
            "0",
            "-0",
            "1",
            "-1",
            "12",
            "2.0",
            "2.5",
            "-0.0",
            "1e3",
            "1E3",
            "1e400",
            "-1e400",
            "1e-400",
            "1e39",
            "3.4028235e38",
            "3.4028236e38",
            "0.1",
            "123.455",
            "16777217",
            "2147483647",
            "2147483648",
            "-2147483649",
            "9007199254740993",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775809",
            "12345678901234567890",
            "1.7976931348623159e308",
            "NaN",
            "Infinity",
            "-Infinity",
            "01",
            "1.",
            ".5",
            "+1",
            "0x10",
            "1700000000000",
            "19723",
            "12.345678901234567890123",
            "1e38",
            "99999999.99",
            "-0.005",
            "102.1",
            "1e30",
            "-123456789012345678901234567890.5",
            "99.99",
            "99.995",
            "123.4",
            "-100.0",
            "0.99999999999999999999999999999999999999",
            "1.0",
            "1234567890123456789012345678.0123456789",
            "12345678901234567890123456789.012345678",
        ]
    )
    | st.just("1" * 400)
    | st.just("1" * 5000)
    | st.floats(allow_nan=False, allow_infinity=False).map(repr)
    | st.integers(-(2**65), 2**65).map(str)
)
strings = (
    st.sampled_from(
        [
            '""',
            '"x"',
            '"é"',
            '"\\u00e9"',
            '"\\ud83d\\ude00"',
            '"\\ud83d"',
            '"\\ude00"',
            '"\\u0000"',
            '"\\n"',
            '"a\tb"',
            '"\x00"',
            '"true"',
            '"TRUE"',
            '"yes"',
            '"12"',
            '" 5"',
            '"+7"',
            '"-0"',
            '"1.5"',
            '"1e3"',
            '"1e-3"',
            '"NaN"',
            '"1.5d"',
            '"12.345"',
            '".5"',
            '"5."',
            '"1_0"',
            '"0x1"',
            '"2024-01-02"',
            '"2024-02-30"',
            '"0000-01-01"',
            '"9999-12-31"',
            '"10000-01-01"',
            '"20240102"',
            '"0001-01-01"',
            '"2024-01-02T03:04"',
            '"2024-01-02T03:04:05"',
            '"2024-01-02 03:04:05"',
            '"2024-01-02T03:04:05Z"',
            '"2024-01-02T03:04:05.1Z"',
            '"2024-01-02T03:04:05.123456789Z"',
            '"2024-01-02T03:04:05+08:00"',
            '"2024-01-02T03:04:05-0830"',
            '"2024-01-02T03:04+08"',
            '"2024-01-02T03:04:05+18:30"',
            '"2024-01-02T24:00:00"',
            '"2024-01-02T23:59:60"',
            '"0001-01-01T00:00:00+10:00"',
            '"9999-12-31T23:59:59.999999-10:00"',
            '"2024-01-02T03"',
            '"2024-01-02t03:04:05"',
            '"2024-01-02T03:04:05z"',
            '"03:04"',
            '"03:04:05.123456789"',
            '"25:00"',
            '"f79c3e09-677c-4bbd-a479-3f349cb785e7"',
            '"F79C3E09677C4BBDA4793F349CB785E7"',
            '"aGk="',
            '"aGk"',
            '"a-_="',
            '"aGkh"',
            '"{}"',
            '"}\\n{"',
            '"NaN,"',
            '", Infinity ,"',
        ]
    )
    | st.text(max_size=5).map(json.dumps)
    | st.text(max_size=5).map(lambda s: json.dumps(s, ensure_ascii=False))
    | st.datetimes().map(lambda d: json.dumps(d.isoformat()))
)
scalars = st.one_of(st.sampled_from(["null", "true", "false"]), numbers, strings)
# What says little or nothing, which Arrow's parser has trouble with.
hollow = st.recursive(
    st.sampled_from(["null", "null", "[]", "{}"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda drawn: "[" + ",".join(drawn) + "]")
        | inner.map(lambda value: f'{{"k":{value}}}')
    ),
    max_leaves=4,
)
names = st.one_of(
    st.sampled_from(NAMES),
    st.sampled_from(
        ["z", "y", "Z", "\\u0061", "a\\u002eb", "", "n" * 300, "a.b", "A", "B", "C", "ä", "\\u0041", "Q.B", "a\\/b"]
    ),
)


def objects(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    entries = st.lists(st.tuples(names, values), max_size=4)
    return entries.map(lambda drawn: "{" + ",".join(f'"{name}":{value}' for name, value in drawn) + "}")


values = st.recursive(
    scalars | hollow,
    lambda inner: objects(inner) | st.lists(inner, max_size=3).map(lambda drawn: "[" + ",".join(drawn) + "]"),
    max_leaves=6,
)
wild_records = objects(values).map(lambda text: text.encode("utf-8", "surrogatepass"))
hostile_records = st.sampled_from(
    [
        b"",
        b" ",
        b"null",
        b"5",
        b'"x"',
        b"[1]",
        b"[{}]",
        b"{",
        b"}",
        b"{}",
        b" {} ",
        b"{}{}",
        b"{}\n{}",
        b"{} {}",
        b'{"a":1}}',
        b'{{"a":1}',
        b'{"a":1,}',
        b'{"a":1 "b":2}',
        b"{'a':1}",
        b'{"a":{"b":1}',
        b'{"c":2}}',
        b'{"a":"}',
        b'{":"b"}',
        b'{"a":[{}',
        b"{}]}",
        b'{"a":1}\n',
        b'{\n"a":\n1}',
        b'{"a":"x\ny"}',
        b'{"a":"\xff"}',
        b'{"z":"\xff"}',
        b'{"\xff":1}',
        b"\xef\xbb\xbf{}",
        b'\xef\xbb\xbf{"a":1}',
        b"{\xef\xbb\xbf}",
        b'{"a":"\xed\xa0\x80"}',
        b"\x00",
        b'{"a":1}\x00',
        b'{"a":1}//x',
        b'/**/{"a":1}',
        b'{"z":NaN}',
        b'{"z":[1,-Infinity]}',
        b'{"a":"NaN,"}',
        b'{"z":Inf}',
        b'{"a":tru}',
        b'{"a":nul}',
        b'{"a":1}\r',
        b"{\r\n}",
        b'{"z":' + b"[" * 100 + b"]" * 100 + b"}",
        b'{"a":' * 70 + b"1" + b"}" * 70,
        b'{"a":"' + b"[" * 200 + b'"}',
        b'{"z":' + b"[" * 100_000,
        b'{"a":[' * 64,
        '{"a":"\u00a0"}'.encode(),
        b'{"a":1,"a":null}',
        b'{"a":null,"a":1}',
        b'{"a":{"b":1,"b":2}}',
        b'{"a":[1],"a":"x"}',
        b'{"\\u0061":1,"a":2}',
        b'{"a":1,"A":null}',
        b'{"A":null,"a":1}',
        b'{"a":1,"A":2}',
        b'{"A" : 1, "b":2}',
        b'{"a":1,"\\u0041":null}',
        b'{"z":{"q":1,"Q":2},"Z":1}',
        b'{"a":{"b":1,"B":null},"A":{"b":null}}',
    ]
)
records = st.one_of(wild_records, wild_records, wild_records, hostile_records)


def fitting(of: IcebergType) -> st.SearchStrategy[str]:
    """Values that mostly fit a column, so that the columnar path gets somewhere."""
    fits: dict[type, st.SearchStrategy[str]] = {
        BooleanType: st.sampled_from(["true", "false"]),
        IntegerType: st.integers(-(2**31), 2**31 - 1).map(str),
        LongType: st.integers(-(2**63), 2**63 - 1).map(str),
        FloatType: st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr)
        | st.floats(-1e38, 1e38).map(repr),
        DoubleType: st.floats(allow_nan=False, allow_infinity=False).map(repr) | st.integers(-(2**70), 2**70).map(str),
        StringType: st.text(max_size=8).map(json.dumps),
        DateType: st.dates().map(lambda d: f'"{d.isoformat()}"'),
        TimeType: st.times().map(lambda t: f'"{t.isoformat()}"'),
        DecimalType: (st.decimals(-200, 200, places=1) | st.decimals(-(10**6), 10**6, places=2)).map(str),
        UUIDType: st.uuids().map(lambda u: f'"{u}"'),
        BinaryType: st.just('"aGk="'),
        FixedType: st.just('"aGk="'),
    }
    if isinstance(of, StructType):
        return fitting_object(of)
    if isinstance(of, ListType):
        elements = st.lists(fitting(of.element_type), max_size=3) | st.lists(st.just("null"), max_size=3)
        return elements.map(lambda drawn: "[" + ",".join(drawn) + "]")
    if isinstance(of, MapType):
        return fitting(of.value_type).map(lambda value: f'{{"k":{value}}}')
    if isinstance(of, TimestampType | TimestamptzType):
        zones = st.sampled_from(["", "Z", "+01:00", "-0930"])
        return st.tuples(st.datetimes(), zones).map(lambda drawn: f'"{drawn[0].isoformat()}{drawn[1]}"')
    return fits[type(of)]


@st.composite
def fitting_object(draw: st.DrawFn, of: StructType) -> str:
    entries = [
        f"{json.dumps(draw(spelled(field.name)))}:{draw(fitting(field.field_type) | st.just('null'))}"
        for field in of.fields
        if draw(st.integers(0, 9))
    ]
    if not draw(st.integers(0, 5)):
        entries.append(f'"extra":{draw(st.sampled_from(["1", "1.5"]) | hollow)}')
    return "{" + ",".join(entries) + "}"


def spelled(name: str) -> st.SearchStrategy[str]:
    """Names mostly in one case, as a producer would write them."""
    return st.sampled_from([name] * 6 + [name.upper(), name.lower()])


@st.composite
def batches(draw: st.DrawFn) -> tuple[Schema, list[bytes]]:
    schema = draw(schemas)
    good = fitting_object(schema.as_struct()).map(str.encode)
    kind = draw(st.sampled_from(["good", "mixed", "wild"]))
    record = {"good": good, "mixed": st.one_of(good, good, good, records), "wild": records}[kind]
    return schema, draw(st.lists(record, max_size=12))


@st.composite
def mappings(draw: st.DrawFn, schema: Schema) -> NameMapping | None:
    """A mapping of some of a schema's columns to names that others have, or none has."""
    if draw(st.booleans()):
        return None
    ids = [field_id for field_id in index_by_id(schema) if draw(st.booleans())]
    spellings = st.lists(st.sampled_from([*NAMES, "z", "A", "B"]), max_size=3, unique=True)
    return NameMapping([MappedField(**{"field-id": i, "names": draw(spellings)}) for i in ids])


rules = st.builds(
    ColumnRules,
    evolve=st.booleans(),
    case_insensitive=st.booleans(),
    on_conflict=st.sampled_from(["dead-letter", "string", "fail"]),
    injected=st.sampled_from([frozenset(), frozenset(), frozenset({"a"}), frozenset({"z", "b"})]),
)


class ExactDecoder(JsonDecoder):
    """Refuses the columnar path, so that every record takes the exact one."""

    def decode(self, values: Any) -> Decoded:
        class Never:
            most, columns = 1, 0

            def read(self, values: object) -> pa.StructArray:
                raise NotExact

        self._columnar_reader = Never  # type: ignore[method-assign, assignment]
        self._columnar = Never()  # type: ignore[assignment]
        return super().decode(values)


def bits(value: Any) -> Any:
    """Make NaN equal to itself and 0.0 different from -0.0."""
    if isinstance(value, float):
        return struct.pack(">d", value) if not math.isnan(value) else "NaN"
    if isinstance(value, dict):
        return {name: bits(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [bits(entry) for entry in value]
    return value


def assert_same(
    schema: Schema | None, values: list[bytes], of: ColumnRules, mapping: NameMapping | None = None
) -> tuple[Decoded, JsonDecoder]:
    decoder = JsonDecoder(schema, of, create=schema is None, name_mapping=mapping)
    exact = ExactDecoder(schema, of, create=schema is None, name_mapping=mapping)
    try:
        one = decoder.decode(values)
    except SchemaConflict:
        with pytest.raises(SchemaConflict):
            exact.decode(values)
        reject()
    other = exact.decode(values)
    assert one.rejected == other.rejected
    assert other.fast_rows == 0
    assert list(decoder.needs.columns.items()) == list(exact.needs.columns.items())
    assert list(decoder.needs.promotions.items()) == list(exact.needs.promotions.items())
    assert list(decoder.needs.optional) == list(exact.needs.optional)
    if one.table is None or other.table is None:
        assert one.table is other.table is None
    else:
        one.table.validate(full=True)
        assert one.table.schema.equals(other.table.schema, check_metadata=True)
        assert bits(one.table.to_pylist()) == bits(other.table.to_pylist())
        assert_same_in_files(schema, one.table)
    return one, decoder


def assert_same_in_files(schema: Schema | None, table: pa.Table) -> None:
    """Rows that the two paths have woven together are slices of arrays, which are to be renamed as such."""
    assert schema is not None
    written = FileLayout.of(schema, {}).in_file(table)
    written.validate(full=True)
    assert bits(nameless(written.to_pylist())) == bits(nameless(table.to_pylist()))


def nameless(value: Any) -> Any:
    if isinstance(value, dict):
        return [nameless(entry) for entry in value.values()]
    return [nameless(entry) for entry in value] if isinstance(value, list | tuple) else value


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("floe_job.convert.json.decoder.MIN_CHUNK_RECORDS", 1)


thorough = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], derandomize=False
)


@thorough
@given(st.data(), batches(), rules)
def test_both_paths_give_the_same_rows_rejections_and_needs(
    data: st.DataObject, batch: tuple[Schema, list[bytes]], of: ColumnRules
) -> None:
    schema, values = batch
    assert_same(schema, values, of, data.draw(mappings(schema)))


@st.composite
def hollow_batches(draw: st.DrawFn) -> tuple[Schema, list[bytes]]:
    """Records that mostly say nothing, inside columns and beside them, and some for the exact path among them.

    One of the columns' types is drawn, and all names are others in files.
    """
    item = StructType(NestedField(100, "a b", LongType(), required=False))
    entries = MapType(101, StringType(), 102, item, value_required=False)
    items = ListType(103, item, element_required=False)
    of, full = draw(
        st.sampled_from(
            [
                (item, '{"a b":1%s}'),
                (entries, '{"k":{"a b":1%s}}'),
                (items, '[{"a b":1%s}]'),
                (ListType(104, entries, element_required=False), '[{"k":{"a b":1%s}}]'),
                (ListType(104, items, element_required=False), '[[{"a b":1%s}]]'),
                (StructType(NestedField(104, "a b", items, required=False)), '{"a b":[{"a b":2%s}]}'),
            ]
        )
    )
    beside = st.just("") | hollow.map(lambda value: f',"K":{value}')
    column = st.just("null") | hollow | beside.map(lambda more: full % more)
    record = st.builds(
        lambda number, value, more: f'{{"i d":{number},"l":{value}{more}}}'.encode(),
        st.sampled_from(["1"] * 9 + ['"5"', "1.5"]),
        column,
        beside,
    )
    fields = [NestedField(1, "i d", LongType(), required=False), NestedField(2, "l", of, required=False)]
    return assign_fresh_schema_ids(Schema(*fields)), draw(st.lists(record, min_size=1, max_size=12))


@thorough
@given(hollow_batches(), rules)
def test_both_paths_take_alike_what_says_nothing(batch: tuple[Schema, list[bytes]], of: ColumnRules) -> None:
    assert_same(*batch, of)


@thorough
@given(st.lists(records, max_size=10), rules)
def test_both_paths_infer_the_same_new_table(values: list[bytes], of: ColumnRules) -> None:
    assert_same(None, values, of)


@thorough
@given(batches())
def test_a_table_with_the_needed_columns_needs_nothing_more(batch: tuple[Schema, list[bytes]]) -> None:
    _, values = batch
    decoder = JsonDecoder(None, ColumnRules(evolve=True), create=True)
    first = decoder.decode(values)
    # A record that was rejected for a type that widened later is a row now, with needs of its own.
    while (second := decoder.decode(values)).rejected != first.rejected:
        first = second
    if decoder.needs:
        again = JsonDecoder(decoder.needs.new_schema(), ColumnRules(evolve=True), create=False)
        assert {r.index for r in again.decode(values).rejected} == {r.index for r in second.rejected}
        assert not again.needs


@pytest.fixture(scope="module")
def any_table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    """A table whose transaction a schema update can be made in; it is never committed."""
    folder = tmp_path_factory.mktemp("catalog")
    catalog = SqlCatalog("test", uri=f"sqlite:///{folder}/catalog.db", warehouse=folder.as_uri())
    catalog.create_namespace("ns")
    yield catalog.create_table("ns.t", Schema(NestedField(1, "x", LongType(), required=False)))
    catalog.engine.dispose()


@thorough
@given(batches(), rules)
def test_batch_needs_nothing_after_successive_updates(
    any_table: Table, batch: tuple[Schema, list[bytes]], of: ColumnRules
) -> None:
    """The driver gives up after five rounds."""
    schema, values = batch
    of = replace(of, evolve=True, on_conflict="dead-letter" if of.on_conflict == "fail" else of.on_conflict)
    for _ in range(5):
        decoder = JsonDecoder(schema, of, create=False)
        decoded = decoder.decode(values)
        if not decoder.needs:
            break
        update = UpdateSchema(any_table.transaction(), schema=schema)
        decoder.needs.apply(update)
        grown = update._apply()
        assert grown.fields != schema.fields
        schema = grown
    assert not decoder.needs
    assert decoded.table is not None
    assert decoded.table.num_rows + len(decoded.rejected) == len(values)
