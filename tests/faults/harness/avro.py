"""Sinks whose topics have Avro: their schemas are in a real registry, which runs reach by a proxy."""

from __future__ import annotations

import json
import uuid
from functools import partial
from typing import Any

from tests.faults.harness.sink import Sink
from tests.faults.oracle.avro_stamps import FRAME, AvroStamps
from tests.support.registry.proxy import RegistryProxy
from tests.support.registry.subjects import register
from tests.support.runs.poison import Kinds, Make, Poison

READ_TIMEOUT_S = 2
"""Seconds after which a connector gives up on an answer of the registry."""

CLASS = "io.confluent.connect.avro.AvroConverter"

UNKNOWN = b"\0" + (2_147_483_000).to_bytes(FRAME - 1, "big")
"""The frame of a schema that no registry has."""

NO_CACHE = {"FLOE_CACHE_DIR": ""}
"""The environment of steps that keep no schema on disk: each asks the registry."""


def avro_keys(proxy: RegistryProxy) -> dict[str, Any]:
    """Return the keys of a connector that reads Avro, and is quick to give up."""
    options = {
        "schema.registry.url": proxy.url,
        "http.read.timeout.ms": READ_TIMEOUT_S * 1000,
        "max.retries": 2,
        "retries.wait.ms": 50,
        "retries.max.wait.ms": 100,
    }
    named = {f"value.converter.{name}": value for name, value in options.items()}
    return {"value.converter": CLASS, "value.converter.schemas.enable": None, **named}


def new_stamps(confluent_url: str) -> AvroStamps:
    """Make a format whose schemas are registered under a subject of their own."""
    return AvroStamps(partial(register, confluent_url, f"stamps-{uuid.uuid4().hex[:8]}-value"))


def kinds_of(stamps: AvroStamps) -> Kinds:
    """Return what can be wrong with records of Avro."""

    def wrong(make: Make, reason: str) -> Poison:
        return Poison(make, "value_converter", reason)

    def unfit(kind: str, n: object) -> Poison:
        schema_id = stamps.register(n=kind)
        return Poison(lambda record: stamps.encode({**record, "n": n}, schema_id), "coerce", "column 'n'")

    malformed = {
        "cut off": wrong(lambda record: stamps.encode(record)[:-3], "^schema"),
        "two values": wrong(lambda record: stamps.encode(record) + b"xy", "left behind it"),
        "no frame": wrong(lambda record: json.dumps(record).encode(), "not the magic byte"),
        "empty": wrong(lambda _: b"", "no bytes"),
        "not UTF-8": wrong(
            lambda record: stamps.encode({**record, "note": "??"}).replace(b"??", b"\xff\xfe"), "not UTF-8"
        ),
        "an unknown schema": wrong(lambda record: UNKNOWN + stamps.encode(record)[FRAME:], "no schema 2147483000"),
    }
    return Kinds(malformed, {"a word": unfit("string", "twelve"), "a fraction": unfit("double", 2.5)}, stamps.encode)


def stamps_of(sink: Sink) -> AvroStamps:
    """Return the format of a sink's records."""
    assert isinstance(sink.log.stamps, AvroStamps)
    return sink.log.stamps
