"""Records that Apicurio's ExtJsonConverter writes, with a real registry, against the envelopes that they are made of."""

from __future__ import annotations

import uuid
from random import Random
from typing import Any

import pytest

from floe.config.converters.base import API, ConverterSpec
from floe.config.converters.kinds import EXT_JSON
from floe.config.converters.with_registry import registry_of
from floe.config.properties import Properties
from floe.schema_registry.client import SchemaRegistry as Client
from floe_job.convert.envelope.decoder import EnvelopeDecoder, EnvelopeOptions
from floe_job.convert.ext_json import ExtJsonDecoder
from floe_job.convert.typed.base import TypedBatch, TypedDecoder
from stack.services.schema_registry import SchemaRegistry
from tests.support.java.program import java_program
from tests.support.job.formats.envelopes import Envelopes

PACKAGES = ("io.apicurio:apicurio-registry-utils-converter:2.6.13.Final", "org.slf4j:slf4j-nop:2.0.17")
SCHEMAS, RECORDS = 25, 4


def one(decoder: TypedDecoder, record: bytes) -> tuple[Any, Any]:
    batch: TypedBatch = decoder.decode([record])
    assert batch.rejected == ()
    return batch.parts[0].schema, batch.parts[0].column


@pytest.mark.full
def test_ext_json_records_of_java_are_read(schema_registry: SchemaRegistry) -> None:
    url = schema_registry.confluent_url.removesuffix("/apis/ccompat/v7") + "/apis/registry/v2"
    requests = []
    for number in range(SCHEMAS):
        made = Envelopes(Random(number))
        schema, topic = made.struct(), f"t-{uuid.uuid4()}"
        requests += [(topic, made.record(schema, made.value({**schema, "optional": False}))) for _ in range(RECORDS)]
    with java_program("ExtJsonCheck", PACKAGES, url) as ask:
        answers = [ask({"topic": topic, "envelope": value.hex()}) for topic, value in requests]
    spec = ConverterSpec(EXT_JSON, Properties({API: "apicurio", "apicurio.registry.url": url}))
    decoder = ExtJsonDecoder(Client(registry_of(spec)).schema, fill_defaults=True)
    for (_, envelope), answer in zip(requests, answers, strict=True):
        assert "record" in answer, answer
        expected = one(EnvelopeDecoder(EnvelopeOptions()), envelope)
        assert one(decoder, bytes.fromhex(answer["record"])) == expected
