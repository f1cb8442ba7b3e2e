"""What converters get of the task that they are made for."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Self

from floe.config.registry.settings import RegistrySettings
from floe.registry.client import Registries
from floe_job.convert.typed.schema_source import SchemaSource


@dataclass(frozen=True)
class ConverterContext:
    """What a task has besides the converter's description.

    ``schemas``: opens a schema registry, without asking it for anything. Raises RegistryMisconfigured.
    """

    schemas: Callable[[RegistrySettings], SchemaSource]

    @classmethod
    def of_attempt(cls, attempt: str) -> Self:
        """Return the registries of this process, for one attempt to write a slice.

        Schemas are kept from one attempt to the next. What a registry did not have, another attempt asks for again.
        """
        return cls(lambda settings: _registries().of_run(settings, attempt).schema)


@cache
def _registries() -> Registries:
    """Return those of this process. The process that workers are forked from never asks for them."""
    return Registries(os.environ)
