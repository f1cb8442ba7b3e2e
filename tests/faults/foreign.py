"""What others do to a table while floe works on it: appends, rewrites, schema changes, rollbacks, drops."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table import Table
from pyiceberg.types import StringType

from faults.sink import CATALOG, Sink
from faults.stamps import Stamp, checksum


@contextmanager
def opened(sink: Sink, table: str | None = None) -> Iterator[Table]:
    """Open a table by a catalog client of its own."""
    prefix = "iceberg.catalog."
    properties = {key.removeprefix(prefix): str(v) for key, v in sink.keys.items() if key.startswith(prefix)}
    catalog = load_catalog(CATALOG, **properties)
    try:
        yield catalog.load_table(table or sink.tables[0])
    finally:
        catalog.close()


def append(sink: Sink, table: str | None = None, rows: int = 3) -> None:
    """Append rows of somebody else's."""
    name = table or sink.tables[0]
    stamps = [Stamp("foreign", uuid.uuid4().hex[:8], i) for i in range(rows)]
    with opened(sink, name) as one:
        records = [{**s._asdict(), "pad": "f", "crc": checksum(s, "f")} for s in stamps]
        one.append(pa.Table.from_pylist(records, schema=schema_to_pyarrow(one.schema())))
    sink.foreign.setdefault(name, []).extend(stamps)


def rewrite(sink: Sink, table: str | None = None) -> None:
    """Compact a table as engines do: the same rows in other files."""
    with opened(sink, table) as one:
        one.overwrite(one.scan().to_arrow())


def add_column(sink: Sink, table: str | None = None) -> None:
    """Add a column."""
    with opened(sink, table) as one, one.update_schema() as update:
        update.add_column(f"extra_{uuid.uuid4().hex[:8]}", StringType())


def set_property(sink: Sink, table: str | None = None) -> None:
    """Set a property, as any engine may."""
    with opened(sink, table) as one, one.transaction() as transaction:
        transaction.set_properties({"somebody.else": uuid.uuid4().hex})
