"""What others do to a table while floe works on it: appends, rewrites, schema changes, rollbacks, drops."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import BooleanType, IntegerType, LongType, PrimitiveType, StringType

from tests.faults.harness.sink import CATALOG, Sink
from tests.faults.oracle.stamps import COLUMNS, FOREIGN, Stamp, checksum
from tests.faults.oracle.stored_state import net_spans

KINDS: dict[str, PrimitiveType] = {
    "boolean": BooleanType(),
    "int": IntegerType(),
    "long": LongType(),
    "string": StringType(),
}


@contextmanager
def opened(sink: Sink, table: str | None = None) -> Iterator[Table]:
    """Open a table by a catalog client of its own."""
    with catalog_of(sink) as catalog:
        yield catalog.load_table(table or sink.tables[0])


@contextmanager
def catalog_of(sink: Sink) -> Iterator[Catalog]:
    """Open the catalog by a client of its own."""
    prefix = "iceberg.catalog."
    properties = {key.removeprefix(prefix): str(v) for key, v in sink.keys.items() if key.startswith(prefix)}
    if sink.catalog_uri is not None:
        properties["uri"] = sink.catalog_uri
    catalog = load_catalog(CATALOG, **properties)
    try:
        yield catalog
    finally:
        catalog.close()


def append(sink: Sink, table: str | None = None, rows: int = 3) -> None:
    """Append rows of another process."""
    name = table or sink.tables[0]
    stamps = [Stamp(FOREIGN, uuid.uuid4().hex[:8], i) for i in range(rows)]
    with opened(sink, name) as one:
        records = [{**s._asdict(), "pad": "f", "crc": checksum(s, "f")} for s in stamps]
        one.append(pa.Table.from_pylist(records, schema=schema_to_pyarrow(one.schema())))
    sink.foreign.setdefault(name, []).extend(stamps)


def rewrite(sink: Sink, table: str | None = None) -> None:
    """Compact a table as engines do: the same rows in other files."""
    with opened(sink, table) as one:
        one.overwrite(one.scan().to_arrow())


def add_column(sink: Sink, table: str | None = None, name: str | None = None, kind: str = "string") -> None:
    """Add a column."""
    with opened(sink, table) as one, one.update_schema() as update:
        update.add_column(name or f"extra_{uuid.uuid4().hex[:8]}", KINDS[kind])


def drop_column(sink: Sink, name: str, table: str | None = None) -> None:
    """Drop a column."""
    with opened(sink, table) as one, one.update_schema() as update:
        update.delete_column(name)


def widen(sink: Sink, name: str, table: str | None = None) -> None:
    """Make a column of ints one of longs."""
    with opened(sink, table) as one, one.update_schema() as update:
        update.update_column(name, LongType())


def change_spec(sink: Sink, table: str | None = None) -> None:
    """Change how the table is partitioned, and back when it was changed before."""
    with opened(sink, table) as one, one.update_spec() as update:
        if one.spec().is_unpartitioned():
            update.add_field("seq", BucketTransform(2), f"bucket_{uuid.uuid4().hex[:8]}")
        else:
            update.remove_field(one.spec().fields[0].name)


def set_property(sink: Sink, table: str | None = None) -> None:
    """Set a property, as any engine may."""
    with opened(sink, table) as one, one.transaction() as transaction:
        transaction.set_properties({"another.process": uuid.uuid4().hex})


def create(sink: Sink, table: str) -> None:
    """Create a table for stamped rows."""
    schema = pa.schema([(name, pa.int64() if name in ("seq", "crc") else pa.string()) for name in COLUMNS])
    with catalog_of(sink) as catalog:
        catalog.create_namespace_if_not_exists(table.rpartition(".")[0])
        catalog.create_table(table, schema)


def drop(sink: Sink, table: str) -> None:
    """Drop a table; its files stay."""
    with opened(sink, table) as one:
        one.catalog.drop_table(table)
    sink.foreign.pop(table, None)


def replace(sink: Sink, table: str) -> None:
    """Drop a table and create an empty one of its name."""
    with opened(sink, table) as one:
        one.catalog.drop_table(table)
        one.catalog.create_table(table, one.schema())
    sink.foreign.pop(table, None)


def roll_back(sink: Sink, table: str, snapshots: int) -> None:
    """Set main back by some snapshots of floe's, to one of floe's."""
    with opened(sink, table) as one:
        ours = [s for s in sink.oracle.look_at(table, sink.pointers[table]).history if "floe.slice" in s.summary]
        with one.manage_snapshots() as manage:
            manage.set_current_snapshot(snapshot_id=ours[-1 - snapshots].snapshot_id)
    sink.keep_foreign(table)


def expire(sink: Sink, keep: int, table: str | None = None) -> None:
    """Expire all but the newest snapshots, as PyIceberg does."""
    with opened(sink, table) as one:
        old = [s.snapshot_id for s in sorted(one.snapshots(), key=lambda s: s.sequence_number or 0)][:-keep]
        one.maintenance.expire_snapshots().by_ids(old).commit()


def rows_of_the_newest(sink: Sink, snapshots: int) -> dict[int, tuple[int, int]]:
    """Return the offsets, per partition of the first topic, that the newest snapshots added."""
    table = sink.tables[0]
    found: dict[int, tuple[int, int]] = {}
    for snapshot in sink.oracle.look_at(table, sink.pointers[table]).history[-snapshots:]:
        for log, spans in (net_spans(snapshot.summary) or {}).items():
            start, end = found.get(log.partition, spans[0])
            found[log.partition] = (min(start, spans[0][0]), max(end, spans[-1][1]))
    return found


@contextmanager
def broken_ledger(sink: Sink, table: str) -> Iterator[None]:
    """Break the ledger of a table, and put it back at the end."""
    name = f"floe.ledger.{sink.group}.main"
    with opened(sink, table) as one:
        ledger = one.metadata.properties[name]
        with one.transaction() as change:
            change.set_properties({name: "broken"})
    try:
        yield
    finally:
        with opened(sink, table) as one, one.transaction() as change:
            change.set_properties({name: ledger})
