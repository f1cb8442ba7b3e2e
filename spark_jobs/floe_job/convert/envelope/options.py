"""The options of Kafka's ``JsonConverter`` that change what an envelope means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from floe.config.converters.base import ConverterSpec
from floe.config.converters.json import CACHE_SIZE, CONTENT, REPLACE_NULL
from floe.config.keys.key import Kind
from floe.config.keys.values import parse_boolean, parse_integer

MAX_SCHEMAS: Final = 1_000
"""Schemas whose decoders are kept, by default and at most."""


@dataclass(frozen=True)
class EnvelopeOptions:
    """Options of JsonConverter with ``schemas.enable``.

    ``fill_defaults`` (``replace.null.with.default``): what is null, or not there, gets the default of its schema.
    ``schemas`` (``schemas.cache.size``): schemas whose decoders are kept. ``content`` (``schema.content``): the JSON of the
    one schema of all values, which are payloads without an envelope then; empty for none.
    """

    fill_defaults: bool = True
    schemas: int = MAX_SCHEMAS
    content: str = ""

    @classmethod
    def of(cls, spec: ConverterSpec) -> EnvelopeOptions:
        """Read the options of a converter, which are checked already."""
        fill, size = spec.options.get(REPLACE_NULL), spec.options.get(CACHE_SIZE)
        return cls(
            fill is None or parse_boolean(spec.prefix + REPLACE_NULL, fill),
            MAX_SCHEMAS if size is None else max(1, min(MAX_SCHEMAS, parse_integer(CACHE_SIZE, Kind.INT, size, 0))),
            spec.options.get(CONTENT, ""),
        )
