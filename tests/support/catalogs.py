"""Lakes in catalogs of every type, whose commits can be made to go wrong; and what a commit was to leave behind."""

from __future__ import annotations

import shutil
import sqlite3
import uuid
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyiceberg.exceptions import ForbiddenError
from sqlalchemy.exc import OperationalError

from floe.config import parse_connector
from stack.services.postgresql import ADMIN, PASSWORD, PostgreSql
from stack.services.rest_catalog import RestCatalog
from tests.support.metastores.glue import BUCKET, KEY, REGION, SECRET
from tests.support.tables.catalog_proxy import CatalogProxy, answer_lost, refused, reset
from tests.support.tables.lake import TABLE, Lake
from tests.support.tables.wire import Wire, fails_first

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from floe.config import Connector
    from tests.support.metastores.glue import Moto
    from tests.support.metastores.hive_metastore import HiveMetastore

LOST = OperationalError("COMMIT", {}, ConnectionResetError("the connection was lost"))


@dataclass
class CatalogLake(Lake):
    """A lake in a catalog of type ``kind``."""

    kind: str = "sql"
    has_nested_namespaces: bool = True

    def connector(self, **over: object) -> Connector:
        return super().connector(**{"iceberg.catalog.type": self.kind, **over})

    def lose_answer(self, catalog: Catalog) -> None:
        """Have the next commit made, and its answer lost."""
        Wire(catalog, after=fails_first(LOST))

    def lose_request(self, catalog: Catalog) -> None:
        """Have the next commit lost before it arrives."""
        Wire(catalog, before=fails_first(LOST))

    def refuse(self, catalog: Catalog) -> None:
        """Have the next commit refused."""
        Wire(catalog, before=fails_first(ForbiddenError("no grant")))

    def fill(self, names: Iterable[str]) -> None:
        """Give the lake's table more names, which share its metadata: each takes no more than an entry of the catalog."""
        client = self.catalog()
        location = client.load_table(TABLE).metadata_location
        for name in names:
            client.register_table(name, location)


@dataclass
class HadoopLake(CatalogLake):
    """A lake in a folder, without a catalog beside it."""

    kind: str = "hadoop"

    def fill(self, names: Iterable[str]) -> None:
        warehouse = self.folder / "warehouse"
        for name in names:
            shutil.copytree(warehouse.joinpath(*TABLE.split(".")), warehouse.joinpath(*name.split(".")))


@dataclass
class PostgreSqlLake(CatalogLake):
    """A lake in a catalog of its own in a PostgreSQL database, whose connector is written as for Java."""

    server: PostgreSql | None = None
    name: str = field(default_factory=lambda: f"lake_{uuid.uuid4().hex[:8]}")
    address: str = ""
    """Of another database of the server."""

    def connector(self, **over: object) -> Connector:
        assert self.server is not None
        keys = {
            "iceberg.catalog": self.name,
            "iceberg.catalog.type": "jdbc",
            "iceberg.catalog.uri": self.address or self.server.jdbc,
            "iceberg.catalog.jdbc.user": ADMIN,
            "iceberg.catalog.jdbc.password": PASSWORD,
        }
        return super().connector(**{**keys, **over})


@dataclass
class RestLake(CatalogLake):
    """A lake behind a REST server, with a proxy before it."""

    server: RestCatalog | None = None
    proxy: CatalogProxy = field(init=False)
    kind: str = "rest"

    def __post_init__(self) -> None:
        assert self.server is not None
        self.proxy = CatalogProxy(self.server.uri)

    def connector(self, **over: object) -> Connector:
        assert self.server is not None
        keys = {"iceberg.catalog.uri": self.proxy.uri, "iceberg.catalog.warehouse": self.server.warehouse}
        return super().connector(**{**keys, **over})

    def lose_answer(self, catalog: Catalog) -> None:
        self.proxy.put(answer_lost())

    def lose_request(self, catalog: Catalog) -> None:
        self.proxy.put(reset())

    def refuse(self, catalog: Catalog) -> None:
        self.proxy.put(refused(403))

    def fill(self, names: Iterable[str]) -> None:
        """Write into the server's database: by its API a thousand names take a minute."""
        assert self.server is not None
        namespace, _, table = TABLE.partition(".")
        row = "SELECT * FROM iceberg_tables WHERE table_namespace = ? AND table_name = ?"
        with closing(sqlite3.connect(self.server.database, timeout=30)) as database:
            found = database.execute(row, (namespace, table))
            columns = [one[0] for one in found.description]
            present = dict(zip(columns, found.fetchone(), strict=True))
            rows = [{**present, "table_name": name.removeprefix(f"{namespace}.")} for name in names]
            values = ", ".join(f":{one}" for one in columns)
            database.executemany(f"INSERT INTO iceberg_tables VALUES ({values})", rows)  # noqa: S608 - its own columns
            database.commit()

    def close(self) -> None:
        client = self.catalog()
        for namespace in {("rpc",), ("other",)} & set(client.list_namespaces()):
            for table in client.list_tables(namespace):
                client.drop_table(table)
        super().close()
        self.proxy.close()


def drop_everything(catalog: Catalog) -> None:
    """Drop the tables and namespaces that a test may have made."""
    for namespace in {("rpc",), ("other",), ("ns",)} & set(catalog.list_namespaces()):
        for table in catalog.list_tables(namespace):
            catalog.drop_table(table)
        catalog.drop_namespace(namespace)


@dataclass
class HiveLake(CatalogLake):
    """A lake in a Hive metastore."""

    server: HiveMetastore | None = None
    keys: dict[str, str] = field(default_factory=dict)
    kind: str = "hive"
    has_nested_namespaces: bool = False

    def connector(self, **over: object) -> Connector:
        assert self.server is not None
        keys = {"iceberg.catalog.uri": self.server.uri, "iceberg.catalog.warehouse": self.server.warehouse}
        return super().connector(**{**keys, **self.keys, **over})

    def close(self) -> None:
        drop_everything(self.catalog())
        super().close()


@dataclass
class GlueLake(CatalogLake):
    """A lake in Glue and S3, which moto imitates."""

    server: Moto | None = None
    kind: str = "glue"
    has_nested_namespaces: bool = False

    def connector(self, **over: object) -> Connector:
        assert self.server is not None
        keys = {
            "iceberg.catalog.warehouse": f"s3://{BUCKET}/{self.folder.name}",
            "iceberg.catalog.glue.endpoint": self.server.uri,
            "iceberg.catalog.s3.endpoint": self.server.uri,
            "iceberg.catalog.client.region": REGION,
            "iceberg.catalog.client.access-key-id": KEY,
            "iceberg.catalog.client.secret-access-key": SECRET,
        }
        made = {**super().connector(**{**keys, **over}).properties}
        made.pop("iceberg.catalog.uri", None)  # which is of the SQL catalog
        return parse_connector(made)

    def close(self) -> None:
        drop_everything(self.catalog())
        super().close()
