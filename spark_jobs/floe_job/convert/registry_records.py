"""Records that name a schema of a registry: what decoders of every format have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from floe.config.converters.base import ConverterSpec
from floe.config.converters.with_registry import registry_of
from floe_job.convert.context import ConverterContext
from floe_job.convert.header_framing import source_of
from floe_job.convert.typed.frames import Framing
from floe_job.convert.typed.schema_source import SchemaSource


@dataclass(frozen=True)
class RegistryRecords:
    """How records name their schemas, and where these come from. ``stage``: of the records that are rejected."""

    framing: Framing
    schema_of: SchemaSource
    stage: str

    @classmethod
    def of(cls, spec: ConverterSpec, context: ConverterContext) -> Self:
        """Open the registry of a converter. Raises ConfigError and RegistryMisconfigured."""
        settings = registry_of(spec)
        return cls(Framing(settings.ids.nbytes), source_of(settings, context), f"{spec.role}_converter")
