"""Keys that Java has for every catalog, whatever its type."""

from typing import Final

from floe.config.catalogs.base import CatalogKey, no_effect, refused

_NO_CACHE: Final = "floe asks the catalog each time"
_NEW_TABLES: Final = "set iceberg.tables.auto-create-props.* for tables that floe creates"

COMMON_KEYS: Final[tuple[CatalogKey, ...]] = (
    no_effect("cache-enabled", _NO_CACHE),
    no_effect("cache.*", _NO_CACHE),
    no_effect("clients", "a task has one client, with a pool of its own"),
    no_effect("client.pool.*", "a task has one client, with a pool of its own"),
    no_effect("client-pool-cache-keys", "a task has one client, with a pool of its own"),
    no_effect("http-client.*", "it is for the HTTP client of Java's AWS SDK"),
    no_effect("include-credentials", "it is for the REST server, which decides by itself"),
    no_effect("io.manifest.*", "manifests are read once"),
    no_effect("metrics-reporter-impl", "it names a Java class; floe's metrics are Airflow's"),
    no_effect("unique-table-location", "tables that floe creates are where the catalog puts them"),
    no_effect("user", "commits are of the login to the catalog"),
    no_effect("app-id", "it is of Spark"),
    no_effect("app-name", "it is of Spark"),
    no_effect("view-default.*", "floe makes no views"),
    no_effect("view-override.*", "floe makes no views"),
    refused("table-default.*", _NEW_TABLES),
    refused("table-override.*", _NEW_TABLES),
    refused("encryption.*", "PyIceberg writes no encrypted tables. Remove it"),
)
