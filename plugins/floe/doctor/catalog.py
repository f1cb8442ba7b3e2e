"""Checks of the catalog: does it open, does it have the tables, and does it keep what floe commits?"""

from __future__ import annotations

from collections.abc import Iterator

from floe.config.report import counted
from floe.doctor.case import Case
from floe.doctor.finding import About, Finding
from floe.status.catalog_probe import probe_catalog

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
