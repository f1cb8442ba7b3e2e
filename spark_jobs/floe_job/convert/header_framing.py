"""Schemas that are named in headers, by the API whose serializers put them there."""

from __future__ import annotations

from collections.abc import Callable

from floe.config.converters.base import ConverterSpec
from floe.config.converters.protobuf import PROTOBUF
from floe.config.converters.with_registry import API, registry_of
from floe.config.registry.settings import RegistrySettings
from floe_job.convert.context import ConverterContext
from floe_job.convert.header_guids import HeaderGuids, source_of_guids
from floe_job.convert.header_ids import HeaderIds, source_of_both_kinds
from floe_job.convert.typed.schema_source import SchemaSource
from floe_job.source.record_batch import Records

Framed = Callable[[Records], Records]


def framing_of(spec: ConverterSpec, context: ConverterContext) -> Framed:
    """Return what puts the ids in headers before values; it changes nothing where records have no ids in headers."""
    if API not in spec.options:
        return lambda records: records
    settings = registry_of(spec)
    if not settings.ids.in_headers:
        return lambda records: records
    has_messages = spec.kind == PROTOBUF
    if settings.api == "confluent":
        return HeaderGuids(spec.role, context.guids, has_messages=has_messages).framed
    return HeaderIds(settings, spec.role, has_messages=has_messages).framed


def source_of(settings: RegistrySettings, context: ConverterContext) -> SchemaSource:
    """Return the source of the ids that records have after ``framing_of``."""
    if not settings.ids.in_headers:
        return context.schemas(settings)
    return (source_of_guids if settings.api == "confluent" else source_of_both_kinds)(settings, context)
