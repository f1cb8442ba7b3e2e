"""Assets with the scheme ``iceberg``, as Airflow asks a provider about them: ``iceberg://catalog/namespace/table``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from floe.config.names import table_uri

if TYPE_CHECKING:
    from urllib.parse import SplitResult

    from airflow.providers.common.compat.openlineage.facet import Dataset
    from airflow.sdk import Asset


def sanitize_uri(uri: SplitResult) -> SplitResult:
    """Return the URI as it is. Raises ValueError where it names no catalog, namespace and table."""
    parts = uri.path.removeprefix("/").split("/")
    if not uri.netloc or len(parts) != 2 or not all(parts):
        msg = f"{uri.geturl()!r} names no table: the URI of one is iceberg://catalog/namespace/table"
        raise ValueError(msg)
    return uri


def create_asset(*, catalog: str, table: str, extra: dict[str, Any] | None = None) -> Asset:
    """Return the asset of a table, ``namespace.table``, as the DAG that writes it names it."""
    from airflow.sdk import Asset

    return Asset(uri=table_uri(catalog, table), extra=extra)


def convert_asset_to_openlineage(asset: Asset, lineage_context: object) -> Dataset:
    """Return the dataset of a table in lineage: the catalog is its namespace."""
    from urllib.parse import unquote, urlsplit

    from airflow.providers.common.compat.openlineage.facet import Dataset

    uri = urlsplit(asset.uri)
    return Dataset(namespace=f"{uri.scheme}://{uri.netloc}", name=unquote(uri.path.removeprefix("/")).replace("/", "."))
