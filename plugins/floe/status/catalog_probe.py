"""A probe of a catalog: whether it keeps what floe commits, found out on a table of its own, before any record is read."""

import logging
import uuid
from collections.abc import Iterator
from typing import Final

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.types import NestedField, StringType

from floe.catalogs.client import CatalogClient
from floe.catalogs.commit_check import SentCommit
from floe.catalogs.exceptions import CatalogError
from floe.catalogs.providers.catalog_providers import provider_of
from floe.config.sections.tables import TableSettings
from floe.model.holding import Holding, LogId
from floe.model.ledger import Anchor, Ledger
from floe.model.ledger_codec import property_name, write_properties
from floe.model.offsets import Intervals
from floe.tables.snapshot_commit import append

log = logging.getLogger(__name__)

PREFIX: Final = "floe_probe_"
BRANCH: Final = "floe_probe"

_GROUP: Final = "floe-probe"
_SCHEMA: Final = Schema(NestedField(1, "probe", StringType(), required=False))
_INTERVALS: Final = 2_000
"""So many that the ledger takes more than one property of the greatest length."""
_SUMMARY: Final = {"floe.kind": "probe", "floe.net": "x" * 3_900}


def probe_catalog(tables: CatalogClient, namespace: str) -> list[str]:
    """Commit to a probe table in ``namespace`` and drop it; return what is wrong, in words, nothing if all is well.

    Main, and a branch where the catalog's tables have branches, get a snapshot each, with a ledger and a summary as long as
    floe's longest. No table of the connector is touched. A probe table that cannot be dropped is among the findings.
    """
    name = f"{namespace}.{PREFIX}{uuid.uuid4().hex[:12]}"
    try:
        table = tables.create(name, _SCHEMA, TableSettings())
    except CatalogError as error:
        return [f"no table can be created in {namespace!r}: {error}"]
    branches = (MAIN_BRANCH, BRANCH) if provider_of(table).keeps_history else (MAIN_BRANCH,)
    findings = [finding for branch in branches for finding in _commit_findings(tables, name, branch)]
    try:
        drop_probe(tables, name)
    except CatalogError as error:
        findings.append(f"probe table {name!r} remains, drop it: {error}")
    return findings


def drop_probe(tables: CatalogClient, name: str) -> None:
    """Drop a table that a probe made, and remove its files, which a catalog leaves. Raises CatalogError.

    Files that cannot be removed are named in the log: they do no harm.
    """
    try:
        table = tables.load(name)
    except CatalogError as error:
        log.warning("files of probe table %s are left over: it cannot be loaded (%s)", name, error)
        table = None
    with tables.errors(f"drop table {name!r}"):
        tables.catalog.drop_table(name)
    if table is not None:
        _remove_files(table, name)


def _remove_files(table: Table, name: str) -> None:
    for location in _files_of(table):
        try:
            table.io.delete(location)
        except FileNotFoundError:
            continue  # catalogs of folders remove them with the table
        except OSError as error:
            log.warning("file %s of probe table %s is left over: it cannot be removed (%s)", location, name, error)


def _files_of(table: Table) -> list[str]:
    """Return the files of a table without data files."""
    logged = [entry.metadata_file for entry in table.metadata.metadata_log]
    return [table.metadata_location, *logged, *(snapshot.manifest_list for snapshot in table.metadata.snapshots)]


def _commit_findings(tables: CatalogClient, name: str, branch: str) -> Iterator[str]:
    ledger_name = property_name(_GROUP, branch)
    try:
        table = tables.require(name)
        with tables.committing(name):
            snapshot_id = append(table, branch, (), _SUMMARY, ledger_name, _long_ledger())
        stored = tables.require(name)
    except CatalogError as error:
        yield f"commit to branch {branch!r}: {error}"
        return
    sent = SentCommit(branch, snapshot_id, _properties(table, ledger_name, snapshot_id), (), _SUMMARY)
    for lost in sent.lost_in(stored.metadata):
        yield f"commit to branch {branch!r}: when the table is loaded again, {lost}"


def _properties(before: Table, ledger_name: str, snapshot_id: int) -> dict[str, str]:
    anchor = Anchor(snapshot_id, before.metadata.next_sequence_number())
    length = provider_of(before).max_property_length
    return dict(write_properties(ledger_name, _long_ledger().anchored(anchor), length))


def _long_ledger() -> Ledger:
    """Return a ledger of offsets that are far apart in no order that could be packed."""
    starts = (i * 1_000_003 % 99_999_989 * 10 for i in range(_INTERVALS))
    spans = Intervals.of([(start, start + 7) for start in starts])
    return Ledger(_GROUP, {LogId(_GROUP, _GROUP, 0): Holding({_GROUP: spans})})
