"""Schemas that are named in headers, by the API whose serializers put them there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from floe.config.converters.base import API, ConverterSpec
from floe.config.converters.kinds import PROTOBUF
from floe_job.source.record_batch import Records

if TYPE_CHECKING:
    from floe.config.schema_registry.settings import RegistrySettings
    from floe_job.convert.context import ConverterContext
    from floe_job.convert.typed.schema_source import SchemaSource

Framed = Callable[[Records], Records]


def framing_of(spec: ConverterSpec, context: ConverterContext) -> Framed:
    """Return what puts the ids in headers before values; it changes nothing where records have no ids in headers."""
    if API not in spec.options:
        return lambda records: records
    # not above: few tasks have a registry
    from floe.config.converters.with_registry import registry_of
    from floe_job.convert.header_ids import HeaderGuids, HeaderIds

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
    from floe_job.convert.header_ids import source_of_both_kinds, source_of_guids

    return (source_of_guids if settings.api == "confluent" else source_of_both_kinds)(settings, context)
