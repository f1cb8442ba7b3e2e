"""Converters for tests of what uses them."""

from __future__ import annotations

from floe.config.converters.base import PLAIN_JSON
from floe.config.schema_registry.settings import RegistrySettings
from floe_job.convert.context import ConverterContext
from floe_job.convert.makers import converters_of
from floe_job.convert.typed.schema_source import SchemaSource


def _no_schemas(settings: RegistrySettings) -> SchemaSource:
    problem = f"no registry was expected to be opened: {settings}"
    raise AssertionError(problem)


NO_REGISTRY = ConverterContext(_no_schemas)
JSON_CONVERTERS = converters_of(PLAIN_JSON, NO_REGISTRY)
