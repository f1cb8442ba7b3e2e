"""A catalog type's declaration: PyIceberg's catalog in memory, which is a table in SQLite."""

from floe.config.catalogs.base import CatalogType
from floe.config.engine import Engine

IN_MEMORY = CatalogType("in-memory", Engine("floe_example.memory_provider:InMemoryProvider"))
