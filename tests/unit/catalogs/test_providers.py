"""Types of catalogs: which provider opens which, and what is refused before anything is opened."""

import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.schema import Schema

from floe.catalogs.exceptions import CatalogMisconfigured
from floe.catalogs.providers.base import PlainProvider
from floe.catalogs.providers.catalog_providers import open_with_provider, provider_named, provider_of
from floe.config import Properties
from floe.config.catalogs.base import CatalogType
from floe.config.catalogs.catalog_types import TYPES
from floe.config.engine import Engine
from floe.config.sections.catalog import CatalogSpec


class MemoryProvider(PlainProvider):
    def open(self, spec):
        return InMemoryCatalog(spec.name)


@pytest.fixture
def memory(monkeypatch):
    monkeypatch.setitem(TYPES.own, "memory", CatalogType("memory", Engine(f"{__name__}:MemoryProvider")))
    return CatalogSpec("memory", "lake", Properties({"type": "memory"}))


def test_every_type_of_the_configuration_has_a_provider():
    for name in TYPES:
        assert provider_named(name) is provider_named(name)


def test_a_registered_provider_opens_and_is_found_again(memory):
    catalog = open_with_provider(memory)
    catalog.create_namespace("db")
    assert provider_of(catalog.create_table("db.t", Schema())) is provider_named("memory")


def test_a_catalog_that_floe_did_not_open_has_no_provider():
    with InMemoryCatalog("lake") as catalog:
        catalog.create_namespace("db")
        table = catalog.create_table("db.t", Schema())
        with pytest.raises(LookupError, match=r"of table 'db\.t' was not opened by floe"):
            provider_of(table)


def test_a_catalog_without_atomic_commits_is_not_opened(memory, monkeypatch):
    monkeypatch.setattr(MemoryProvider, "has_atomic_commit", False)
    with pytest.raises(CatalogMisconfigured, match="'lake' of type 'memory' cannot swap"):
        open_with_provider(memory)
