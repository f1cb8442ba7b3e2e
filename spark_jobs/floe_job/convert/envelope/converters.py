"""JSON with schemas, as Kafka Connect's JsonConverter reads it with ``schemas.enable=true``."""

from __future__ import annotations

from floe.config.converters.base import ConverterSpec
from floe_job.convert.context import ConverterContext
from floe_job.convert.envelope.decoder import EnvelopeDecoder
from floe_job.convert.envelope.fixed_schema import FixedSchemaDecoder
from floe_job.convert.envelope.options import EnvelopeOptions
from floe_job.convert.typed.converters import TypedConverters


def envelope_converters(spec: ConverterSpec, context: ConverterContext) -> TypedConverters:
    """Make the readers of envelopes, which bring their schemas and need no registry."""
    options, stage = EnvelopeOptions.of(spec), f"{spec.role}_converter"
    if options.content:
        fill = options.fill_defaults
        return TypedConverters(lambda: FixedSchemaDecoder(options.content, fill_defaults=fill, stage=stage))
    return TypedConverters(lambda: EnvelopeDecoder(options, stage=stage))
