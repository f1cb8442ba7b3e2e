"""What every converter keeps to, and what it takes to add one."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from floe.config.converters import converter_classes as config
from floe.config.converters.base import PLAIN_JSON, ConverterSpec
from floe.config.converters.converter_classes import read_converter
from floe.config.converters.kinds import ENGINES, ENVELOPE, PLAIN_KINDS, SIMPLE_HEADER
from floe.config.keys.reader import OptionReader, Settings
from floe.config.properties import Properties
from floe_job.convert.base import Converters, Decoded, TableConverter
from floe_job.convert.makers import converters_of
from floe_job.convert.objects import ObjectConverters
from floe_job.schema.proposal import ColumnRules
from floe_job.source.record_batch import ParsedValues
from tests.support.contracts import ConverterCase as Case
from tests.support.contracts import added_cases
from tests.support.extensions import installed_example, listed_example, only_example
from tests.support.job.converters import NO_REGISTRY
from tests.support.job.formats import avro_records, ext_json_records, json_schema_records, proto_records
from tests.support.job.formats.envelopes import envelope
from tests.support.kafka.messages import values_of

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "sauce", StringType(), required=False),
)
EVOLVE = ColumnRules(evolve=True)

__all__ = ["installed_example", "listed_example", "only_example"]

REGISTERED = {
    "json": Case(PLAIN_JSON, lambda record: json.dumps(record).encode(), (b"", b"{", b"[1]", b"\xff", b"null")),
    "avro": Case(
        avro_records.CONFLUENT,
        avro_records.encode,
        (b"", b"\x01\x00\x00\x00\x00", b"\x00\xff\xff\xff\xff", avro_records.encode({"id": "1"})[:-1]),
        context=avro_records.CONTEXT,
    ),
    "avro of apicurio": Case(
        avro_records.APICURIO,
        partial(avro_records.encode, nbytes=8),
        (b"", b"\x01" + bytes(8), b"\x00" + b"\xff" * 8, avro_records.encode({"id": "1"}, 8)[:-1]),
        context=avro_records.CONTEXT,
    ),
    "protobuf": Case(
        proto_records.CONFLUENT,
        proto_records.encode,
        (b"", b"\x01" + bytes(5), b"\x00\xff\xff\xff\xff\x00", proto_records.encode({"id": "1"})[:-1]),
        context=proto_records.CONTEXT,
    ),
    "protobuf of apicurio": Case(
        proto_records.APICURIO,
        partial(proto_records.encode, before=proto_records.NAME),
        (b"", b"\x01" + bytes(5), b"\x00\xff\xff\xff\xff\x00", proto_records.encode({"id": "1"})),
        context=proto_records.CONTEXT,
    ),
    ENVELOPE: Case(
        ConverterSpec(ENVELOPE, Properties({"replace.null.with.default": "false"})),
        lambda record: envelope([(name, "string") for name in record], **record),
        (b"", b"{", b'{"id": "1"}', b"\xff", b"null", envelope([("id", "string")], id=1)),
    ),
    "json schema": Case(
        json_schema_records.SPEC,
        json_schema_records.encode,
        (b"", b"\x01\x00\x00\x00\x00", b"\x00\xff\xff\xff\xff", json_schema_records.encode({"id": "1"})[:-1]),
        context=json_schema_records.CONTEXT,
    ),
    "ext json": Case(
        ext_json_records.SPEC,
        ext_json_records.encode,
        (b"", b"{}", b"[1]", b'{"schemaId":999999,"payload":{}}', ext_json_records.encode({"id": "1"})[:-1]),
        context=ext_json_records.CONTEXT,
    ),
}
ADDED: dict[str, Case] = added_cases("CONVERTERS")


@pytest.fixture(params=[*REGISTERED, *ADDED])
def case(request: pytest.FixtureRequest) -> Case:
    """Each of floe's, and those of extensions."""
    return {**REGISTERED, **ADDED}[request.param]


@pytest.fixture
def converters(case: Case) -> Converters:
    return converters_of(case.spec, case.context)


def pizzas(case: Case, start: int, end: int, **more: str) -> list[bytes]:
    return [case.encode({"id": str(i), "sauce": f"s{i}", **more}) for i in range(start, end)]


def table_of(converters: Converters, rules: ColumnRules = ColumnRules()) -> TableConverter:  # noqa: B008 - immutable
    return converters.for_table(SCHEMA, rules, create=False)


def rows(decoded: Decoded) -> list[dict[str, Any]]:
    assert decoded.table is not None
    found: list[dict[str, Any]] = decoded.table.to_pylist()
    return found


def chunks(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (values[start : start + size] for start in range(0, len(values), size))


def test_converter_every_registered_kind_has_a_case() -> None:
    assert set(ENGINES) - PLAIN_KINDS == {case.spec.kind for case in REGISTERED.values()}


@pytest.mark.usefixtures("listed_example")
def test_converter_specs_of_all_classes_name_an_implementation() -> None:
    assert {"example.LineConverter"} <= set(config.CONVERTERS)
    for converter in config.CONVERTERS.values():
        for role in converter.roles:
            spec = converter.read(OptionReader({"schemas.enable": "false"}), role)
            assert spec.role == role
            assert spec.engine or spec.kind in ENGINES or (role, spec.kind) == ("header", SIMPLE_HEADER)


def test_converter_unknown_kind_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"no converter reads 'morse'; known: .*json"):
        converters_of(ConverterSpec("morse"), NO_REGISTRY)


def test_converter_spec_survives_pickle(case: Case) -> None:
    assert pickle.loads(pickle.dumps(case.spec)) == case.spec  # noqa: S301


def test_converter_keeps_the_order_of_records(case: Case, converters: Converters) -> None:
    decoded = table_of(converters).decode(values_of(pizzas(case, 0, 3000)))
    assert rows(decoded) == [{"id": i, "sauce": f"s{i}"} for i in range(3000)]
    assert decoded.records == 3000


def test_converter_no_records_give_no_rows(converters: Converters) -> None:
    assert rows(table_of(converters).decode([])) == []
    rejected, texts = converters.for_field(("sauce",)).read([])
    assert (list(rejected), texts.to_pylist()) == ([], [])
    assert converters.whole([]).values == []


def test_converter_bad_record_rejects_itself_only(case: Case, converters: Converters) -> None:
    for bad in case.bad:
        values = [*pizzas(case, 0, 40), bad, *pizzas(case, 40, 80)]
        decoded = table_of(converters).decode(values)
        assert [(one.index, one.stage) for one in decoded.rejected] == [(40, case.stages[0])], bad
        assert all(one.reason for one in decoded.rejected)
        assert [row["id"] for row in rows(decoded)] == list(range(80))


def test_converter_value_that_does_not_fit_is_rejected(case: Case, converters: Converters) -> None:
    values = [*pizzas(case, 0, 3), case.encode({"id": "many", "sauce": "x"}), *pizzas(case, 3, 6)]
    decoded = table_of(converters).decode(values)
    assert [(one.index, one.stage) for one in decoded.rejected] == [(3, case.stages[1])]
    assert [row["id"] for row in rows(decoded)] == list(range(6))


def test_converter_missing_field_is_null_or_rejected(case: Case, converters: Converters) -> None:
    decoded = table_of(converters).decode([case.encode({"id": "1"}), case.encode({"sauce": "x"})])
    assert rows(decoded) == [{"id": 1, "sauce": None}]
    assert [one.index for one in decoded.rejected] == [1]


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_converter_result_is_the_same_for_any_chunks(case: Case, converters: Converters, size: int) -> None:
    values = pizzas(case, 0, 300)
    values[37], values[250] = case.bad[0], case.encode({"id": "many"})
    whole, table = table_of(converters).decode(values), table_of(converters)
    parts = [table.decode(part) for part in chunks(values, size)]
    assert [row for part in parts for row in rows(part)] == rows(whole)
    found = [i * size + one.index for i, part in enumerate(parts) for one in part.rejected]
    assert found == [one.index for one in whole.rejected] == [37, 250]


def test_converter_changes_of_the_schema_accumulate(case: Case, converters: Converters) -> None:
    table = table_of(converters, EVOLVE)
    table.decode(pizzas(case, 0, 5, cheese="a"))
    assert table.decode(pizzas(case, 5, 10, size="b")).table is None
    assert set(table.needs.columns) == {("cheese",), ("size",)}
    assert table.decode(pizzas(case, 10, 12)).table is None, "a file is closed with final columns only"


def test_converter_rejected_record_changes_no_schema(case: Case, converters: Converters) -> None:
    table = table_of(converters, EVOLVE)
    decoded = table.decode([*pizzas(case, 0, 2), case.encode({"id": "many", "new": "x"})])
    assert not table.needs
    assert [one.index for one in decoded.rejected] == [2]


def test_converter_new_table_proposes_all_columns(case: Case, converters: Converters) -> None:
    table = converters.for_table(None, ColumnRules(), create=True)
    assert table.decode(pizzas(case, 0, 3)).table is None
    assert set(table.needs.columns) == {("id",), ("sauce",)}


def test_converter_parsed_values_give_the_same_rows(case: Case, converters: Converters) -> None:
    values = [*pizzas(case, 0, 50), case.encode({"id": "many"}), *pizzas(case, 50, 60)]
    parsed = converters.whole(values)
    assert parsed.rejected == ()
    by_bytes, by_parsed = table_of(converters).decode(values), table_of(converters).decode(parsed.values)
    assert rows(by_parsed) == rows(by_bytes)
    assert by_parsed.rejected == by_bytes.rejected


def test_converter_whole_values_keep_their_places(case: Case, converters: Converters) -> None:
    (good,) = pizzas(case, 7, 8)
    parsed = converters.whole([None, good, case.bad[0], None])
    assert [value is None for value in parsed.values] == [True, False, True, True]
    assert [(one.index, one.stage) for one in parsed.rejected] == [(2, case.stages[0])]


@pytest.mark.parametrize("left", [7, "text", None, {"id": b"bytes"}, {3: 4}, {"id": float("nan")}], ids=repr)
def test_converter_refuses_what_is_no_object_any_more(case: Case, converters: Converters, left: Any) -> None:
    good = converters.whole(pizzas(case, 0, 2)).values
    decoded = table_of(converters).decode(ParsedValues([good[0], left, good[1]]))
    assert [one.index for one in decoded.rejected] == [1]
    assert [row["id"] for row in rows(decoded)] == [0, 1]


def test_converter_field_is_text_or_null(case: Case, converters: Converters) -> None:
    values = [*pizzas(case, 0, 2), case.encode({"id": "3"}), case.bad[0], *pizzas(case, 4, 5)]
    rejected, texts = converters.for_field(("sauce",)).read(values)
    assert texts.to_pylist() == ["s0", "s1", None, "s4"]
    assert [one.index for one in rejected] == [3]
    _, same = converters.for_field(("sauce",)).read(converters.whole(pizzas(case, 0, 2)).values)
    assert same.to_pylist() == ["s0", "s1"]


@pytest.mark.usefixtures("only_example")
@pytest.mark.parametrize("name", ["example.LineConverter", "LineConverter", "Line"])
def test_converter_of_an_extension_is_found_by_its_names(name: str) -> None:
    settings = Settings({"value.converter": name})
    assert read_converter(settings, "value") == ADDED["example.LineConverter"].spec
    assert settings.problems == []


@pytest.mark.parametrize("made", [None, [1], "text", 7])
def test_converter_of_objects_rejects_what_its_function_makes_no_object_of(made: Any) -> None:
    """None least of all: it would be counted as a tombstone, and the record be in no table and no dead letter."""
    converters = ObjectConverters(lambda value: made if value == b"odd" else {"id": "1", "sauce": "s"})
    parsed = converters.whole([b"good", b"odd", None])
    assert ([one.index for one in parsed.rejected], parsed.values[0]["id"]) == ([1], "1")
    decoded = table_of(converters).decode([b"good", b"odd"])
    assert ([one.index for one in decoded.rejected], len(rows(decoded))) == ([1], 1)
