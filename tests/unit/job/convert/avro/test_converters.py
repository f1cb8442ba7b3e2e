from __future__ import annotations

import pytest

from floe.config.converters.base import ConverterSpec
from floe.config.properties import Properties
from floe.config.schema_registry.settings import RegistrySettings
from floe.schema_registry.schema import RegisteredSchema
from floe_job.convert.avro.decoder import avro_converters
from floe_job.convert.context import ConverterContext
from floe_job.convert.typed.schema_source import SchemaSource
from floe_job.schema.proposal import ColumnRules
from tests.support.avro import varint
from tests.support.job.formats import avro_records
from tests.support.job.formats.avro_orders import registered

CREATE = ColumnRules(evolve=True)
A = '{"type": "record", "name": "x.A", "fields": [{"name": "b", "type": "int"}]}'


def with_options(spec: ConverterSpec, **options: str) -> ConverterSpec:
    named = {name.replace("_", "."): value for name, value in options.items()}
    return ConverterSpec(spec.kind, Properties({**spec.options, **named}), spec.role)


def context_of(text: str) -> ConverterContext:
    return ConverterContext(lambda _: lambda schema_id: registered(text))


def whole(spec: ConverterSpec, text: str, value: bytes) -> object:
    (found,) = avro_converters(spec, context_of(text)).whole([value]).values
    return found


def record(kind: str) -> str:
    return f'{{"type": "record", "name": "R", "fields": [{{"name": "one", "type": {kind}}}]}}'


def test_avro_task_asks_for_a_schema_once_for_all_uses() -> None:
    asked: list[int] = []

    def schemas(settings: RegistrySettings) -> SchemaSource:
        def schema_of(schema_id: int) -> RegisteredSchema:
            asked.append(schema_id)
            return avro_records.schema_of(schema_id)

        return schema_of

    converters = avro_converters(avro_records.CONFLUENT, ConverterContext(schemas))
    values = [avro_records.encode({"id": "1", "sauce": "x"})] * 3
    for _ in range(2):
        converters.for_table(None, CREATE, create=True).decode(values)
        converters.for_field(("sauce",)).read(values)
        converters.whole(values)
    assert len(asked) == 1


@pytest.mark.parametrize("spelled", ["flatten_singleton_unions", "flatten_singleton_union"])
@pytest.mark.parametrize(("flatten", "found"), [("true", "a"), ("false", {"string": "a"})])
def test_avro_option_of_singletons_is_followed(flatten: str, found: object, spelled: str) -> None:
    spec = with_options(avro_records.CONFLUENT, **{spelled: flatten})
    assert whole(spec, record('["string"]'), bytes(5) + b"\x00\x02a") == {"one": found}


@pytest.mark.parametrize(("enhanced", "name"), [("false", "A"), ("true", "x.A")])
def test_avro_option_of_full_names_is_followed(enhanced: str, name: str) -> None:
    spec = with_options(avro_records.CONFLUENT, enhanced_avro_schema_support=enhanced)
    value = bytes(5) + varint(1) + varint(3)
    assert whole(spec, record(f'["long", {A}]'), value) == {"one": {"long": None, name: {"b": 3}}}


def test_avro_union_of_a_whole_value_is_read_as_its_class_does() -> None:
    text, value = f'["null", {A}, "long"]', varint(1) + varint(3)
    assert whole(avro_records.CONFLUENT, text, bytes(5) + value) == {"A": {"b": 3}, "long": None}
    assert whole(avro_records.APICURIO, text, bytes(9) + value) == {"b": 3}
