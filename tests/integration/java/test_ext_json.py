"""Records that Apicurio's ExtJsonConverter writes, with a real registry, against the envelopes that they are made of."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from pathlib import Path
from random import Random
from typing import Any

import pytest

from floe.config.converters.base import ConverterSpec
from floe.config.converters.ext_json import EXT_JSON
from floe.config.converters.with_registry import API, registry_of
from floe.config.properties import Properties
from floe.registry.client import SchemaRegistry as Client
from floe_job.convert.envelope.decoder import EnvelopeDecoder
from floe_job.convert.envelope.options import EnvelopeOptions
from floe_job.convert.ext_json.decoder import ExtJsonDecoder
from floe_job.convert.typed.base import TypedBatch, TypedDecoder
from stack.services.schema_registry import SchemaRegistry
from tests.support.job.formats.envelopes import Envelopes

PACKAGES = ("io.apicurio:apicurio-registry-utils-converter:2.6.13.Final", "org.slf4j:slf4j-nop:2.0.17")
PROGRAM = Path(__file__).with_name("ExtJsonCheck.java")
SCHEMAS, RECORDS = 25, 4


def one(decoder: TypedDecoder, record: bytes) -> tuple[Any, Any]:
    batch: TypedBatch = decoder.decode([record])
    assert batch.rejected == ()
    return batch.parts[0].schema, batch.parts[0].column


def test_ext_json_records_of_java_are_read(schema_registry: SchemaRegistry) -> None:
    from stack.jars import resolve
    from stack.java import java

    modules = subprocess.run([java(), "--list-modules"], capture_output=True, text=True, check=True).stdout
    if "jdk.compiler@" not in modules:
        pytest.skip("this Java cannot compile (no module jdk.compiler): install a JDK to check ExtJsonConverter")
    url = schema_registry.confluent_url.removesuffix("/apis/ccompat/v7") + "/apis/registry/v2"
    requests = []
    for number in range(SCHEMAS):
        made = Envelopes(Random(number))
        schema, topic = made.struct(), f"t-{uuid.uuid4()}"
        requests += [(topic, made.record(schema, made.value({**schema, "optional": False}))) for _ in range(RECORDS)]
    answers = subprocess.run(
        [java(), "-Dfile.encoding=UTF-8", "-cp", os.pathsep.join(map(str, resolve(PACKAGES))), str(PROGRAM), url],
        input="".join(json.dumps({"topic": topic, "envelope": value.hex()}) + "\n" for topic, value in requests),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    spec = ConverterSpec(EXT_JSON, Properties({API: "apicurio", "apicurio.registry.url": url}))
    decoder = ExtJsonDecoder(Client(registry_of(spec)).schema, fill_defaults=True)
    for (_, envelope), line in zip(requests, answers, strict=True):
        answer = json.loads(line)
        assert "record" in answer, answer
        expected = one(EnvelopeDecoder(EnvelopeOptions()), envelope)
        assert one(decoder, bytes.fromhex(answer["record"])) == expected
