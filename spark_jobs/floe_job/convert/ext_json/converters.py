"""JSON with the id of its schema, as Apicurio's ExtJsonConverter reads it."""

from __future__ import annotations

from floe.config.converters.base import ConverterSpec
from floe.config.converters.json import REPLACE_NULL
from floe.config.converters.with_registry import registry_of
from floe.config.keys.option_reader import OptionReader
from floe_job.convert.context import ConverterContext
from floe_job.convert.ext_json.decoder import ExtJsonDecoder
from floe_job.convert.typed.converters import TypedConverters


def ext_json_converters(spec: ConverterSpec, context: ConverterContext) -> TypedConverters:
    """Make the converters, with one decoder. Raises ConfigError and RegistryMisconfigured."""
    source = context.schemas(registry_of(spec))
    fill_defaults = OptionReader(spec.options, spec.prefix).boolean(REPLACE_NULL, True)
    decoder = ExtJsonDecoder(source, fill_defaults=fill_defaults, stage=f"{spec.role}_converter")
    return TypedConverters(lambda: decoder)
