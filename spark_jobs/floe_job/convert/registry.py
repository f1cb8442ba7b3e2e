"""Which converter reads which kind of bytes."""

from collections.abc import Callable
from importlib import import_module
from typing import Final

from floe.config.converters.base import ConverterSpec
from floe.config.converters.kinds import AVRO, ENVELOPE, EXT_JSON, JSON, JSON_SCHEMA, PLAIN_KINDS, PROTOBUF
from floe_job.convert.base import Converters
from floe_job.convert.context import ConverterContext

ConverterMaker = Callable[[ConverterSpec, ConverterContext], Converters]


def _maker(module: str, name: str) -> ConverterMaker:
    """Return what makes converters, which imports its module when it is called: a worker needs one format."""

    def make(spec: ConverterSpec, context: ConverterContext) -> Converters:
        found: ConverterMaker = getattr(import_module(f"floe_job.convert.{module}"), name)
        return found(spec, context)

    return make


CONVERTERS: Final[dict[str, ConverterMaker]] = {
    JSON: _maker("json.converters", "JsonConverters"),
    AVRO: _maker("avro.converters", "avro_converters"),
    PROTOBUF: _maker("protobuf.converters", "protobuf_converters"),
    JSON_SCHEMA: _maker("json_schema.converters", "json_schema_converters"),
    EXT_JSON: _maker("ext_json.converters", "ext_json_converters"),
    **dict.fromkeys(PLAIN_KINDS, _maker("plain.decoder", "plain_converters")),
    ENVELOPE: _maker("envelope.converters", "envelope_converters"),
}
"""By ``ConverterSpec.kind``. Another converter needs a line here, and one in ``floe.config.converters.registry``."""


def converters_of(spec: ConverterSpec, context: ConverterContext) -> Converters:
    """Make the converters that read what ``spec`` describes. Raises ValueError for a kind that nothing reads."""
    if spec.kind not in CONVERTERS:
        problem = f"no converter reads {spec.kind!r}; known: {', '.join(sorted(CONVERTERS))}"
        raise ValueError(problem)
    return CONVERTERS[spec.kind](spec, context)
