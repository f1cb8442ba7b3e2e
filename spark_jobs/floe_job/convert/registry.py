"""Which converter reads which kind of bytes."""

from collections.abc import Callable
from typing import Final

from floe.config.converters.avro import AVRO
from floe.config.converters.base import JSON, ConverterSpec
from floe.config.converters.ext_json import EXT_JSON
from floe.config.converters.json import ENVELOPE
from floe.config.converters.json_schema import JSON_SCHEMA
from floe.config.converters.protobuf import PROTOBUF
from floe_job.convert.avro.converters import avro_converters
from floe_job.convert.base import Converters
from floe_job.convert.context import ConverterContext
from floe_job.convert.envelope.converters import envelope_converters
from floe_job.convert.ext_json.converters import ext_json_converters
from floe_job.convert.json.converters import JsonConverters
from floe_job.convert.json_schema.converters import json_schema_converters
from floe_job.convert.plain.decoder import KINDS, plain_converters
from floe_job.convert.protobuf.converters import protobuf_converters

CONVERTERS: Final[dict[str, Callable[[ConverterSpec, ConverterContext], Converters]]] = {
    JSON: JsonConverters,
    AVRO: avro_converters,
    PROTOBUF: protobuf_converters,
    JSON_SCHEMA: json_schema_converters,
    EXT_JSON: ext_json_converters,
    **dict.fromkeys(KINDS, plain_converters),
    ENVELOPE: envelope_converters,
}
"""By ``ConverterSpec.kind``. Another converter needs a line here, and one in ``floe.config.converters.registry``."""


def converters_of(spec: ConverterSpec, context: ConverterContext) -> Converters:
    """Make the converters that read what ``spec`` describes. Raises ValueError for a kind that nothing reads."""
    if spec.kind not in CONVERTERS:
        problem = f"no converter reads {spec.kind!r}; known: {', '.join(sorted(CONVERTERS))}"
        raise ValueError(problem)
    return CONVERTERS[spec.kind](spec, context)
