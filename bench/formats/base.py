"""What a format is to the benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.formats.orders import FIELDS, Fields
from floe.config.schema_registry.settings import RegistryAddress, RegistrySettings
from floe.schema_registry.client import SchemaRegistry
from floe.schema_registry.schema import SchemaText
from floe_job.convert.typed.base import TypedDecoder
from floe_job.convert.typed.schema_source import SchemaSource
from stack.subjects import register

Encoder = Callable[[dict[str, Any]], bytes]
Registry = str
"""The address of a registry, without the path of an API."""

CONFLUENT_API = "/apis/ccompat/v7"


@dataclass(frozen=True)
class Format:
    """``schema``: what is registered; None where no registry is needed. ``encoder``: for the id of the schema.

    ``converter``: the keys of a connector, for floe and for the sink. ``decoder``: what floe decodes with, for the
    floor; None for formats that are not measured beside it. ``has_sink``: whether there is a converter class for the sink.
    ``fields``: the columns of the table.
    """

    name: str
    schema: SchemaText | None
    encoder: Callable[[int], Encoder]
    converter: Callable[[Registry], Mapping[str, str]]
    decoder: Callable[[SchemaSource], TypedDecoder] | None = None
    has_sink: bool = True
    fields: Fields = FIELDS

    def register(self, registry: Registry) -> int:
        """Register the schema and return its id; 0 without a schema."""
        if self.schema is None:
            return 0
        return register(
            f"{registry}{CONFLUENT_API}", f"bench-{self.name}-value", self.schema.text, str(self.schema.type)
        )


def schemas_of(registry: Registry) -> SchemaSource:
    """Return floe's client of a registry."""
    return SchemaRegistry(RegistrySettings("confluent", (RegistryAddress(f"{registry}{CONFLUENT_API}"),))).schema


def frame(schema_id: int) -> bytes:
    """Return what Confluent's format has before a value."""
    return b"\x00" + schema_id.to_bytes(4, "big")
