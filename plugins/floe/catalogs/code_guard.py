"""Code that PyIceberg loads by name: only its own classes, and those that the operator's environment names.

PyIceberg imports and calls what a property names: FileIO, location provider, catalog, auth manager, S3 retry strategy.
Properties come from connector files, from tables that other users alter, and from the answers of a catalog.
PyIceberg would call ``builtins.exec`` like any other class. So the functions that import are replaced, in the driver and in
Spark's workers, by functions that check a name here first (``pyiceberg_patches``).

The operator names classes in the environment or in ``.pyiceberg.yaml``, under the property that they are for:
``PYICEBERG_CATALOG__<NAME>__PY_IO_IMPL``, ``…__WRITE__PY_LOCATION_PROVIDER__IMPL``, ``…__S3__RETRY_STRATEGY_IMPL``; an auth
manager in the YAML file, as ``auth``. Executors of a cluster need the environment too.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from pyiceberg.utils.config import Config

from floe.catalogs.exceptions import CodeRefused
from floe.config.secrets.mask import clip

FILE_IO: Final = "py-io-impl"
LOCATION_PROVIDER: Final = "write.py-location-provider.impl"
RETRY_STRATEGY: Final = "s3.retry-strategy-impl"
CATALOG: Final = "py-catalog-impl"
AUTH: Final = "auth"

CLOUD_FILE_IOS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("abfs", "abfss", "wasb", "wasbs"), "floe.catalogs.cloud_file_io.AzureFileIO"),
    "gs": "floe.catalogs.cloud_file_io.GcsFileIO",
}
"""floe's own, by the scheme of a location: PyIceberg's do not read such locations, or not with each login."""

BUILT_IN: Final[Mapping[str, frozenset[str]]] = {
    FILE_IO: frozenset(
        {"pyiceberg.io.pyarrow.PyArrowFileIO", "pyiceberg.io.fsspec.FsspecFileIO", *CLOUD_FILE_IOS.values()}
    ),
    LOCATION_PROVIDER: frozenset(
        {"pyiceberg.table.locations.SimpleLocationProvider", "pyiceberg.table.locations.ObjectStoreLocationProvider"}
    ),
    RETRY_STRATEGY: frozenset({"pyarrow.fs.AwsDefaultS3RetryStrategy", "pyarrow.fs.AwsStandardS3RetryStrategy"}),
    CATALOG: frozenset(),
    AUTH: frozenset({"noop", "basic", "legacyoauth2", "oauth2", "google", "entra"}),
}
"""Classes of PyIceberg, Arrow and floe, by the property that may name them; auth managers by their short names."""

_SHOWN_CHARACTERS = 200


def check_class(key: str, name: str) -> None:
    """Raise CodeRefused unless the class that ``key`` names is PyIceberg's own or named by the operator's environment."""
    if name in BUILT_IN[key] or name in operators_classes(key):
        return
    msg = (
        f"{key} names the class {clip(name, _SHOWN_CHARACTERS)!r}: floe loads no class that a connector, a table or a "
        "catalog's answer names. Remove the property; or, if the class is wanted, name it in the environment of Airflow's "
        f"and Spark's workers, such as {_variable(key)}"
    )
    raise CodeRefused(msg)


def check_properties(properties: Mapping[str, Any]) -> None:
    """Raise CodeRefused for the first property whose class must not be loaded."""
    for key in (FILE_IO, LOCATION_PROVIDER, RETRY_STRATEGY, CATALOG):
        if name := properties.get(key):
            check_class(key, str(name))


def operators_classes(key: str) -> Collection[str]:
    """Return the classes that the operator's environment and ``.pyiceberg.yaml`` name under ``key``, in any catalog."""
    catalogs = Config().config.get("catalog")
    if not isinstance(catalogs, Mapping):
        return frozenset()
    return frozenset(name for catalog in catalogs.values() for name in _named(catalog, key))


def _named(catalog: object, key: str) -> Iterator[str]:
    if not isinstance(catalog, Mapping):
        return
    value = catalog.get(key)
    if isinstance(value, Mapping):  # auth is an object of the YAML file: its type, or the class under impl
        yield from (str(value[part]) for part in ("type", "impl") if part in value)
    elif value is not None:
        yield str(value)


def _variable(key: str) -> str:
    if key == AUTH:
        return "auth in .pyiceberg.yaml"
    return f"PYICEBERG_CATALOG__<NAME>__{key.replace('.', '__').replace('-', '_').upper()}"
