"""What converters get of the task that they are made for."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Self

from floe_job.contract.result import MAX_NAMED, SchemaLookups
from floe_job.convert.guids import GuidNumbers

if TYPE_CHECKING:
    from floe.config.schema_registry.settings import RegistrySettings
    from floe.schema_registry.client import Registries
    from floe.schema_registry.schema import RegisteredSchema
    from floe_job.convert.typed.schema_source import SchemaSource


class LookupRecorder:
    """Notes which ids of schemas were found."""

    def __init__(self) -> None:
        self._found = False
        self._unknown: list[int] = []

    def watched(self, source: SchemaSource) -> SchemaSource:
        """Return a source that notes what it is asked for."""
        from floe.schema_registry.exceptions import SchemaMissing, SchemaRefused

        def schema_of(schema_id: int) -> RegisteredSchema:
            try:
                schema = source(schema_id)
            except SchemaMissing:
                if len(self._unknown) < MAX_NAMED and schema_id not in self._unknown:
                    self._unknown.append(schema_id)
                raise
            except SchemaRefused:
                self._found = True
                raise
            self._found = True
            return schema

        return schema_of

    def lookups(self) -> SchemaLookups:
        """Return what was found so far."""
        return SchemaLookups(self._found, tuple(self._unknown))


@dataclass(frozen=True)
class ConverterContext:
    """What a task has besides the converter's description.

    ``schemas``: opens a schema registry, without asking it for anything. Raises RegistryMisconfigured. ``guids``: the
    numbers of the GUIDs that records name schemas by.
    """

    schemas: Callable[[RegistrySettings], SchemaSource]
    guids: GuidNumbers = field(default_factory=GuidNumbers)

    @classmethod
    def of_attempt(cls, attempt: str, recorder: LookupRecorder) -> Self:
        """Return the registries of this process, for one attempt to write a slice.

        Schemas are kept from one attempt to the next. What a registry did not have, another attempt asks for again.
        """
        return cls(lambda settings: recorder.watched(_registries().of_run(settings, attempt).schema))


@cache
def _registries() -> Registries:
    """Return those of this process. The process that workers are forked from never asks for them."""
    from floe.schema_registry.client import Registries

    return Registries(os.environ)
