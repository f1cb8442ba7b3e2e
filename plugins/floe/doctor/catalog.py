"""Checks of the catalog: does it open, does it have the tables, and does it keep what floe commits?"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from pyiceberg.io import FileIO
from pyiceberg.schema import Schema
from pyiceberg.table import Table, TableProperties
from pyiceberg.types import NestedField, StringType

from floe.catalogs.exceptions import CatalogError
from floe.config.check import counted
from floe.config.sections.tables import TableSettings
from floe.doctor.check import About, Case, Finding
from floe.status.catalog_probe import PREFIX, drop_probe, probe_catalog

MAX_TABLES = 20
_REMEDY = (
    "give floe's login these rights in the catalog and in its warehouse, and check the warehouse's path and endpoint"
)


def find_catalog(case: Case, about: About) -> Iterator[Finding]:
    """Open the catalog and load the connector's tables."""
    spec = case.connector.catalog
    names = tables_of(case)
    found = [name for name in names if case.tables.load(name) is not None]
    for name in names:
        if name not in found and not case.connector.creation.is_on:
            yield about.problem(
                f"table {name!r} does not exist in catalog {spec.name!r}",
                "create it, or set iceberg.tables.auto-create-enabled to true",
            )
    if not names:
        case.tables.names()
        yield about.ok(f"catalog {spec.name!r} ({spec.type}) answers; records name its tables")
        return
    yield about.ok(
        f"catalog {spec.name!r} ({spec.type}) answers and has {len(found)} of {counted(len(names), 'table')}"
    )


def find_commits(case: Case, about: About) -> Iterator[Finding]:
    """Create a probe table, commit to it as a run does, and drop it."""
    if not case.write:
        yield about.not_checked("no probe table is made with --read-only")
        return
    name = next(iter(tables_of(case)), None)
    if name is None:
        yield about.not_checked("records name the tables: there is no namespace to make a probe table in")
        return
    namespace = name.rpartition(".")[0]
    findings = probe_catalog(case.tables, namespace)
    for finding in findings:
        if finding.startswith("no table can be created") and not case.connector.creation.is_on:
            yield about.warning(finding, "nothing to do if floe may not create tables: then commits are not tried here")
        else:
            yield about.problem(finding, _REMEDY)
    if not findings:
        yield about.ok(f"a probe table in {namespace!r} was created, committed to, read and dropped")


def tables_of(case: Case) -> list[str]:
    """Return the tables that the connector names, its dead-letter table too; of many, the first ones."""
    letters = case.connector.errors.table
    return [*case.connector.tables[: MAX_TABLES - 1], *([letters] if letters else [])]


# A check of the warehouse: may a file be written where a table's data files are, read again and deleted?


CONTENT = b"probe of floe doctor"
FILE_PREFIX = "floe-doctor-"
REMEDY = (
    "the warehouse must be readable and writable for Airflow's and Spark's workers: check its path, its endpoint, and the "
    "store's credentials and grants"
)
_SCHEMA = Schema(NestedField(1, "probe", StringType(), required=False))


def find_warehouse(case: Case, about: About) -> Iterator[Finding]:
    """Write, read and delete a file beside the data files of a table; without a table, of a probe table."""
    loaded = (case.tables.load(name) for name in tables_of(case))
    table = next((one for one in loaded if one is not None), None)
    if table is not None:
        yield _tried(case, about, table)
    elif not case.write or not case.connector.creation.is_on or not tables_of(case):
        yield about.not_checked("the connector has no table yet that says where its files are")
    elif "commits" in case.failed:
        yield about.not_checked("there is no table to write beside: see 'commits'")
    else:
        yield from _tried_on_probe(case, about)


def _tried_on_probe(case: Case, about: About) -> Iterator[Finding]:
    namespace = tables_of(case)[0].rpartition(".")[0]
    name = f"{namespace}.{PREFIX}{uuid.uuid4().hex[:12]}"
    table = case.tables.create(name, _SCHEMA, TableSettings())
    try:
        yield _tried(case, about, table)
    finally:
        drop_probe(case.tables, name)


def _tried(case: Case, about: About, table: Table) -> Finding:
    if not case.write:
        location = table.metadata_location
        with table.io.new_input(location).open() as stream:
            stream.read(1)
        return about.ok(f"{location} can be read; nothing is written with --read-only")
    folder = table.properties.get(TableProperties.WRITE_DATA_PATH) or f"{table.location().rstrip('/')}/data"
    try:
        _exchange(table.io, f"{folder.rstrip('/')}/{FILE_PREFIX}{uuid.uuid4().hex}")
    except Exception as error:  # noqa: BLE001 - each store has errors of its own
        known = isinstance(error, CatalogError)
        return about.problem(f"{folder}: {'' if known else type(error).__name__ + ': '}{error}", REMEDY)
    return about.ok(f"a file in {folder} was written, read and deleted")


def _exchange(io: FileIO, path: str) -> None:
    """Write, read and delete a file. Raises what the store raises, and OSError for another content."""
    with io.new_output(path).create() as stream:
        stream.write(CONTENT)
    try:
        with io.new_input(path).open() as read:
            content = read.read()
    finally:
        io.delete(path)
    if content != CONTENT:
        msg = f"{path} has another content than was written"
        raise OSError(msg)
