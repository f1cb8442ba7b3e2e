"""Catalogs and warehouses that take, and do not take, tables and files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.exceptions import ForbiddenError

from floe.doctor import catalog
from floe.doctor.catalog import find_catalog, find_commits, find_warehouse
from floe.doctor.check import Case
from tests.support.kafka.doctor_case import case_of, found, levels
from tests.support.tables.lake import TABLE, Lake


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    (tmp_path / "warehouse").mkdir()
    made = Lake(tmp_path)
    yield made
    made.close()


def case_on(lake: Lake, *, write: bool = True, **keys: object) -> Case:
    """Make a case whose catalog is the lake's."""
    case = case_of(write=write, **{"iceberg.tables": TABLE, **keys})
    case.connector = lake.connector(**keys)
    case.tables = lake.tables(**keys)
    return case


AUTO = {"iceberg.tables.auto-create-enabled": "true"}


def files(lake: Lake) -> list[str]:
    return [path.name for path in lake.folder.rglob("*floe-doctor*")]


def test_catalog_answers_and_has_the_tables(lake: Lake) -> None:
    lake.create()
    (one,) = found(find_catalog, case_on(lake))
    assert one.text.endswith("answers and has 1 of 1 table")


def test_table_that_is_missing_is_a_problem_unless_it_is_created(lake: Lake) -> None:
    one, _ = found(find_catalog, case_on(lake))
    assert one.is_problem and f"table '{TABLE}' does not exist" in one.text
    assert levels(found(find_catalog, case_on(lake, **AUTO))) == ["ok"]


def test_probe_commits_whatever_the_settings_and_leaves_nothing(lake: Lake) -> None:
    lake.create()
    case = case_on(lake, **AUTO, **{"iceberg.tables.default-partition-by": "day(ts)"})
    (one,) = found(find_commits, case)
    assert one.level.value == "ok", one
    assert case.tables.names("rpc") == [TABLE]
    assert levels(found(find_commits, case_on(lake, write=False))) == ["not checked"]


def test_probe_not_created_is_a_warning_without_auto_create(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.create()

    def refuse(*_: object, **__: object) -> None:
        msg = "no grant"
        raise ForbiddenError(msg)

    for keys, level in ((AUTO, "problem"), ({}, "warning")):
        case = case_on(lake, **keys)
        monkeypatch.setattr(case.tables.catalog, "create_table", refuse)
        (one,) = found(find_commits, case)
        assert one.level.value == level and "no grant" in one.text


@pytest.mark.parametrize("has_table", [True, False])
def test_warehouse_takes_a_file_and_keeps_nothing(lake: Lake, has_table: bool) -> None:
    if has_table:
        lake.create()
    (one,) = found(find_warehouse, case_on(lake, **AUTO))
    assert one.level.value == "ok" and one.text.endswith("was written, read and deleted")
    assert files(lake) == []


def test_warehouse_is_not_probed_by_a_second_table_that_fails(lake: Lake) -> None:
    case = case_on(lake, **AUTO)
    case.failed = {"commits"}
    (one,) = found(find_warehouse, case)
    assert one.level.value == "not checked" and "see 'commits'" in one.text
    lake.create()
    assert levels(found(find_warehouse, case)) == ["ok"]


def test_warehouse_is_only_read_with_read_only(lake: Lake) -> None:
    lake.create()
    (one,) = found(find_warehouse, case_on(lake, write=False))
    assert one.level.value == "ok" and one.text.endswith("nothing is written with --read-only")
    assert levels(found(find_warehouse, case_on(lake, write=False, **{"iceberg.tables": "rpc.none"}))) == [
        "not checked"
    ]


def test_warehouse_that_takes_no_file_is_a_problem(lake: Lake) -> None:
    table = lake.create()
    folder = Path(table.location().removeprefix("file://"))
    (folder / "data").write_text("no folder")
    (one,) = found(find_warehouse, case_on(lake))
    assert one.is_problem and f"{folder}/data: " in one.text and "must be readable and writable" in one.remedy


def test_file_that_is_read_with_another_content_is_a_problem(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.create()

    class Changed(bytes):
        def __ne__(self, other: object) -> bool:
            return True

    monkeypatch.setattr(catalog, "CONTENT", Changed(b"x"))
    (one,) = found(find_warehouse, case_on(lake))
    assert one.is_problem and "another content" in one.text and files(lake) == []
