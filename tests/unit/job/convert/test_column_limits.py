"""Records that point at long constants of their schema: decoded in parts, each is a row or rejected all the same."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema

from floe.config.converters.base import ConverterSpec
from floe.config.sections.routing import Routing
from floe.control.data_files import SpecFiles
from floe.schema_registry.schema import RegisteredSchema, SchemaText, SchemaType
from floe_job.connect.schema import ConnectSchema, Kind, array, map_of, struct
from floe_job.contract.task import RouteRules, TableTarget
from floe_job.convert import column_limits
from floe_job.convert.base import Converters
from floe_job.convert.column_limits import ChunkPart, ColumnsTooLarge, default_bytes, in_parts
from floe_job.convert.context import ConverterContext
from floe_job.convert.makers import converters_of
from floe_job.routing.shared_decode import SharedDecoder
from floe_job.schema.proposal import ColumnRules
from floe_job.transform.batch import UNREAD, Readers, value_reader
from floe_job.transform.chain import Chain
from floe_job.write.table_rows import TableRows
from tests.support.job.formats import avro_records, ext_json_records, json_schema_records, proto_records
from tests.support.job.transforms import transform
from tests.support.kafka.messages import PIECE, records, values_of
from tests.support.tables.parquet_tables import TableFactory

LONG = "x" * 20_000
COUNT = 200
LIMIT = 1_000_000
FRAME = b"\0\0\0\0\7"
ENUM = {"type": "enum", "name": "E", "symbols": [LONG]}


def avro(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": "i", "type": "int"}, *fields]})


FILLED = ext_json_records.struct(i="int32")
FILLED["fields"].append({"field": "e", "type": "string", "optional": True, "default": LONG})
JSON_SCHEMA = {"type": "object", "properties": {"i": {"type": "integer"}, "e": {"type": "string", "default": LONG}}}


@dataclass(frozen=True)
class Format:
    """Records of one schema, whose text ``e`` is a long constant of it."""

    spec: ConverterSpec
    kind: SchemaType | None
    schema: str
    record: bytes

    def converters(self) -> Converters:
        found = RegisteredSchema(SchemaText(self.kind, self.schema))
        return converters_of(self.spec, ConverterContext(lambda _: lambda _: found))

    def columns(self) -> Schema:
        table = self.converters().for_table(None, ColumnRules(), create=True)
        table.decode(values_of([self.record]))
        return table.needs.new_schema()


FORMATS = {
    "symbol of Avro": Format(avro_records.CONFLUENT, "AVRO", avro({"name": "e", "type": ENUM}), FRAME + b"\2\0"),
    "symbols in an array": Format(
        avro_records.CONFLUENT,
        "AVRO",
        avro({"name": "e", "type": ENUM}, {"name": "a", "type": {"type": "array", "items": "E"}}),
        FRAME + b"\2\0\6\0\0\0\0",
    ),
    "name of Protobuf": Format(
        proto_records.CONFLUENT,
        "PROTOBUF",
        f'syntax = "proto3"; enum E {{ {LONG} = 0; }} message R {{ int32 i = 2; E e = 1; }}',
        FRAME + b"\0\x10\1",
    ),
    "default of ExtJson": Format(ext_json_records.SPEC, None, json.dumps(FILLED), b'{"schemaId":7,"payload":{"i":1}}'),
    "default of JSON Schema": Format(json_schema_records.SPEC, "JSON", json.dumps(JSON_SCHEMA), FRAME + b'{"i":1}'),
}


@dataclass
class Sizes:
    """Takes rows and keeps only how large they were."""

    rows: list[int] = field(default_factory=list)
    nbytes: list[int] = field(default_factory=list)

    def write(self, rows: pa.Table) -> None:
        self.rows.append(rows.num_rows)
        self.nbytes.append(rows.nbytes)

    def close(self) -> tuple[SpecFiles | None, int]:
        return None, sum(self.rows)

    def abort(self) -> None:
        """There is nothing to drop."""


@pytest.fixture
def low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_limits, "MAX_BYTES", LIMIT)


@pytest.fixture(params=FORMATS)
def form(request: pytest.FixtureRequest) -> Format:
    return FORMATS[request.param]


@pytest.mark.usefixtures("low_limit")
def test_rows_are_made_in_parts_of_a_size(form: Format, new_table: TableFactory) -> None:
    bad = {20: b"\0", 150: b"?"}
    given = [bad.get(i, form.record) for i in range(COUNT)]
    sizes = Sizes()
    rows = TableRows(TableTarget("ns.t", new_table(form.columns()).metadata), 0, form.converters(), sink=sizes)
    dead = rows.take(records(PIECE, given))
    counts = rows.close(complete=True).counts
    assert [one.offset for one in dead] == sorted(bad)
    assert (counts.assigned, counts.rows, counts.dead) == (COUNT, COUNT - 2, 2)
    assert max(sizes.nbytes) <= LIMIT + 100_000 or max(sizes.rows) == 1
    assert len(sizes.rows) > 1


@pytest.mark.usefixtures("low_limit")
def test_the_field_of_a_route_is_read_in_parts(form: Format) -> None:
    given = [b"?" if i == 150 else form.record for i in range(COUNT)]
    rejected, texts = form.converters().for_field(("e",)).read(values_of(given))
    assert [one.index for one in rejected] == [150]
    assert len(texts) == COUNT - 1


@pytest.mark.usefixtures("low_limit")
def test_transforms_see_parts(form: Format) -> None:
    chain = Chain.of([transform("HoistField$Value", field="all")])
    readers = Readers(value_reader(form.converters()), UNREAD.keys)
    given = [None if i % 7 == 0 else form.record for i in range(COUNT)]
    found = list(chain.batches(records(PIECE, given), readers))
    offsets = [batch.source.offsets[place] for batch in found for place in batch.places]
    assert offsets == list(range(COUNT))
    assert not any(batch.rejected for batch in found)


def test_tables_with_the_same_columns_decode_their_own(new_table: TableFactory, low_limit: None) -> None:
    form = FORMATS["symbol of Avro"]
    schema = form.columns()
    targets = [TableTarget(f"ns.t{i}", new_table(schema).metadata) for i in range(2)]
    shared = SharedDecoder.of(targets, RouteRules(Routing(by="field", path=("e",))), form.converters())
    assert shared is not None
    assert shared.decode(records(PIECE, [form.record] * COUNT)) is None


def test_parts_are_halves_in_their_order() -> None:
    taken = []

    def decode(part: ChunkPart) -> int:
        if part.last - part.first > 3:
            raise ColumnsTooLarge
        return part.last - part.first

    for part, count in in_parts(10, decode):
        taken += list(range(*part))
        assert count == len(range(*part))
    assert taken == list(range(10))
    assert list(in_parts(0, lambda part: part)) == [(ChunkPart(0, 0), ChunkPart(0, 0))]


def test_one_value_is_never_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_limits, "MAX_BYTES", 10)
    for form in FORMATS.values():
        table = form.converters().for_table(form.columns(), ColumnRules(), create=False)
        found = table.decode(values_of([form.record])).table
        assert found is not None
        assert found.num_rows == 1


def test_defaults_in_structs_count_and_others_do_not() -> None:
    text, numbers = ConnectSchema(Kind.STRING, default="abc"), ConnectSchema(Kind.INT32, default=12)
    inner = struct({"b": text, "c": ConnectSchema(Kind.BYTES, default=b"1234"), "d": array(text), "e": numbers})
    assert default_bytes(struct({"a": text, "f": inner, "g": map_of(text, text)})) == 3 + 3 + 4
