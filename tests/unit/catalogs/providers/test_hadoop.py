"""floe's Hadoop catalog: Java's folders and versions, and what is refused of them."""

from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)

from floe.catalogs.client import CatalogClient
from floe.catalogs.exceptions import CatalogMisconfigured, TableRefused, TableUnsuitable
from floe.catalogs.providers.hadoop import version_folder
from floe.catalogs.providers.hadoop.version_folder import Version, VersionFolder
from floe.config import ConfigError, parse_connector
from tests.support.catalogs import CatalogLake
from tests.support.tables.killed import catalog_keys, land_beside, portable
from tests.support.tables.lake import SCHEMA, TABLE, expected
from tests.support.tables.slices import write_slice

HINT = "version-hint.text"


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[CatalogLake]:
    (tmp_path / "warehouse").mkdir()
    made = CatalogLake(tmp_path, kind="hadoop")
    yield made
    made.close()


@pytest.fixture
def folder(lake: CatalogLake) -> Path:
    """Make a table with four versions."""
    table = lake.create()
    for i in range(3):
        set_property(table, str(i))
    return lake.folder / "warehouse" / "rpc" / "pizzas" / "metadata"


def set_property(table: Any, value: str, key: str = "n") -> None:
    with table.transaction() as transaction:
        transaction.set_properties({key: value})


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".avro"))


# -- versions -----------------------------------------------------------------------------------------------------------


def test_versions_and_hint_are_named_as_java_does(lake: CatalogLake, folder: Path) -> None:
    assert names(folder) == ["v1.metadata.json", "v2.metadata.json", "v3.metadata.json", "v4.metadata.json", HINT]
    assert (folder / HINT).read_text() == "4"
    assert lake.load().metadata_location == f"file://{folder}/v4.metadata.json"


@pytest.mark.parametrize("hint", ["1", "3", "0", "", "x", "4\n", None])
def test_last_version_is_found_from_any_hint(lake: CatalogLake, folder: Path, hint: str | None) -> None:
    (folder / HINT).unlink() if hint is None else (folder / HINT).write_text(hint)
    assert lake.load().properties["n"] == "2"
    set_property(lake.load(), "3")
    assert (folder / HINT).read_text() == "5"


def _without(version: int) -> Callable[[Path], None]:
    return lambda folder: (folder / f"v{version}.metadata.json").unlink()


def _twice(folder: Path) -> None:
    (folder / "v4.gz.metadata.json").write_bytes(gzip.compress((folder / "v4.metadata.json").read_bytes()))


@pytest.mark.parametrize(
    ("hint", "change", "text"),
    [
        ("4", _without(4), "names version 4, and the last one that is there is 3"),
        ("2", _without(3), "version 3 is missing between 2"),
        ("4", _twice, "version 4 is in v4.gz.metadata.json and v4.metadata.json"),
    ],
)
def test_versions_that_are_not_clear_are_refused(
    lake: CatalogLake, folder: Path, hint: str, change: Callable[[Path], None], text: str
) -> None:
    (folder / HINT).write_text(hint)
    change(folder)
    with pytest.raises(TableRefused, match=text) as refusal:
        lake.tables().load(TABLE)
    assert refusal.value.code == "FLOE-431"


def test_listing_that_others_change_meanwhile_is_repeated(
    lake: CatalogLake, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hint = VersionFolder._hint
    made: list[Any] = []

    def overtaken(self: VersionFolder) -> int | None:
        found = hint(self)
        if not made:
            made.append(found)
            monkeypatch.setattr(VersionFolder, "_hint", hint)
            set_property(lake.load(), "3")
        return found

    monkeypatch.setattr(VersionFolder, "_hint", overtaken)
    assert lake.load().properties["n"] == "3"
    versions = VersionFolder._versions

    def without_one(self: VersionFolder) -> Iterator[Any]:
        monkeypatch.setattr(VersionFolder, "_versions", versions)
        return (match for match in versions(self) if match[1] != "4")

    (folder / HINT).write_text("3")
    monkeypatch.setattr(VersionFolder, "_versions", without_one)
    assert lake.load().properties["n"] == "3"


def test_old_versions_that_are_gone_do_no_harm(lake: CatalogLake, folder: Path) -> None:
    _without(1)(folder)
    _without(2)(folder)
    (folder / HINT).write_text("2")
    assert lake.load().properties["n"] == "2"


def test_gzip_is_read_and_written_from_the_next_version_on(lake: CatalogLake, folder: Path) -> None:
    set_property(lake.load(), "gzip", "write.metadata.compression-codec")
    set_property(lake.load(), "3")
    assert names(folder)[4:] == ["v5.metadata.json", "v6.gz.metadata.json", HINT]
    assert gzip.decompress((folder / "v6.gz.metadata.json").read_bytes()).startswith(b"{")
    assert lake.load().properties["n"] == "3"
    set_property(lake.load(), "4")
    assert lake.load().metadata_location.endswith("/v7.gz.metadata.json")


def test_table_created_with_gzip_begins_with_it(lake: CatalogLake) -> None:
    lake.create(properties={"write.metadata.compression-codec": "gzip"})
    assert lake.load().metadata_location.endswith("/v1.gz.metadata.json")


def test_version_that_exists_is_never_replaced(folder: Path) -> None:
    before = (folder / "v4.metadata.json").read_bytes()
    with VersionFolder.open(folder) as opened, pytest.raises(CommitFailedException, match=r"v4\.metadata\.json exists"):
        opened.publish(Version(4, "v4.metadata.json"), b"{}")
    assert (folder / "v4.metadata.json").read_bytes() == before
    assert len(names(folder)) == 5


def test_link_that_was_made_and_not_answered_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def twice(*args: Any, **kwargs: Any) -> None:
        link(*args, **kwargs)
        link(*args, **kwargs)  # as a network file system repeats a request

    monkeypatch.setattr(os, "link", twice)
    with VersionFolder.open(folder) as opened:
        opened.publish(Version(5, "v5.metadata.json"), b"{}")
    assert (folder / "v5.metadata.json").read_bytes() == b"{}"


@pytest.mark.parametrize(("call", "code"), [("link", errno.EPERM), ("flock", errno.ENOLCK)])
def test_file_system_without_an_atomic_step_is_refused(
    lake: CatalogLake, folder: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(code, os.strerror(code))

    written = write_slice(lake, (0, 0, 5))
    monkeypatch.setattr(os if call == "link" else version_folder.fcntl, call, fail)
    with pytest.raises(TableRefused, match="Nothing was committed") as refusal:
        written.land()
    assert refusal.value.code == "FLOE-430"
    monkeypatch.undo()
    assert len(names(folder)) == 5


def test_hint_that_cannot_be_written_does_no_harm(
    lake: CatalogLake, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(VersionFolder, "_write_hint", full)
    assert not write_slice(lake, (0, 0, 5)).land().already
    assert "version-hint.text" in caplog.text
    assert ((folder / HINT).read_text(), lake.rows()) == ("4", expected((0, 5)))


# -- others at the same time --------------------------------------------------------------------------------------------


def test_two_processes_at_once_lose_no_commit(lake: CatalogLake) -> None:
    lake.create()
    by_partition = [
        [write_slice(lake, (p, start, start + 5), plan_id=f"plan-{p}-{start}") for start in (0, 5, 10)] for p in (0, 1)
    ]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(land_beside, str(lake.folder), catalog_keys(lake), portable(own)) for own in by_partition]
        assert [job.result() for job in jobs] == [[False] * 3] * 2
    assert lake.rows() == expected((0, 15)) + expected((0, 15), partition=1)
    assert len(lake.load().metadata.snapshots) == 6


def test_lock_of_another_is_a_conflict_after_a_while(
    lake: CatalogLake, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(version_folder, "LOCKED_WITHIN", 0.1)
    table = lake.load()
    with (
        VersionFolder.open(folder) as other,
        other.locked(),
        pytest.raises(CommitFailedException, match="another process has been committing"),
    ):
        set_property(table, "x")


def test_version_that_was_made_and_removed_is_a_conflict(
    lake: CatalogLake, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = lake.load()
    locked = VersionFolder.locked

    def overtaken(self: VersionFolder) -> Any:
        monkeypatch.setattr(VersionFolder, "locked", locked)
        for value in ("3", "4"):
            set_property(lake.load(), value)
        _without(5)(folder)  # as write.metadata.delete-after-commit.enabled does: its name is free again
        return locked(self)

    monkeypatch.setattr(VersionFolder, "locked", overtaken)
    with pytest.raises(CommitFailedException, match="updated by another process"):
        set_property(table, "x")
    assert lake.load().properties["n"] == "4"


def test_old_versions_are_removed_and_the_hint_is_kept(lake: CatalogLake) -> None:
    keep = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "2"}
    lake.create(properties=keep)
    for start in range(0, 25, 5):
        write_slice(lake, (0, start, start + 5), plan_id=f"plan-{start}").land()
    folder = lake.folder / "warehouse" / "rpc" / "pizzas" / "metadata"
    assert names(folder) == ["v4.metadata.json", "v5.metadata.json", "v6.metadata.json", HINT]
    assert lake.rows() == expected((0, 25))


@pytest.mark.parametrize("again", [False, True])
def test_table_dropped_in_mid_commit_takes_nothing(
    lake: CatalogLake, folder: Path, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    table = lake.load()
    locked = VersionFolder.locked

    def dropped_before(self: VersionFolder) -> Any:
        monkeypatch.setattr(VersionFolder, "locked", locked)
        lake.catalog().drop_table(TABLE)
        if again:
            lake.create()
        return locked(self)

    monkeypatch.setattr(VersionFolder, "locked", dropped_before)
    with pytest.raises(CommitFailedException, match="dropped or replaced"):
        set_property(table, "x")
    assert folder.exists() == again
    assert not again or names(folder) == ["v1.metadata.json", HINT]


# -- names, namespaces, places ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["..", ".", "", "a/b", "/etc", "a\0b", "a\\b", "a:b", "a?b", "a#b", "%2e%2e", ".hidden"]
)
def test_name_that_is_no_folder_is_refused(lake: CatalogLake, name: str) -> None:
    catalog = lake.catalog()
    catalog.create_namespace("rpc")
    for call in (
        lambda: catalog.load_table(("rpc", name)),
        lambda: catalog.create_table(("rpc", name), SCHEMA),
        lambda: catalog.create_table((name, "t"), SCHEMA),
        lambda: catalog.drop_table(("rpc", name)),
        lambda: catalog.create_namespace((name,)),
        lambda: catalog.list_tables((name,)),
        lambda: catalog.drop_namespace((name,)),
    ):
        with pytest.raises(TableUnsuitable):
            call()
    assert [path.name for path in (lake.folder / "warehouse").iterdir()] == ["rpc"]


def test_namespaces_are_folders_that_are_no_tables(lake: CatalogLake) -> None:
    lake.create()
    catalog = lake.catalog()
    catalog.create_namespace("a.b")
    assert sorted(catalog.list_namespaces()) == [("a",), ("rpc",)]
    assert catalog.list_namespaces("a") == [("a", "b")]
    assert catalog.list_namespaces("rpc") == []
    assert catalog.load_namespace_properties("a.b") == {"location": f"file://{lake.folder}/warehouse/a/b"}
    with pytest.raises(NamespaceAlreadyExistsError):
        catalog.create_namespace("a")
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace("a")
    with pytest.raises(NoSuchNamespaceError):
        catalog.list_tables(TABLE)
    with pytest.raises(TableUnsuitable, match=r"'rpc\.pizzas' is a table"):
        catalog.create_namespace(f"{TABLE}.x")
    catalog.drop_namespace("a.b")
    assert catalog.list_namespaces("a") == []


def test_dropped_table_leaves_nothing(lake: CatalogLake, folder: Path) -> None:
    lake.catalog().drop_table(TABLE)
    assert list(folder.parents[1].iterdir()) == []
    with pytest.raises(NoSuchTableError):
        lake.load()
    with pytest.raises(NoSuchTableError):
        lake.catalog().drop_table(TABLE)


def test_table_that_exists_is_not_created_again(lake: CatalogLake, folder: Path) -> None:
    with pytest.raises(TableAlreadyExistsError):
        lake.catalog().create_table(TABLE, SCHEMA)
    assert len(names(folder)) == 5


def test_creation_that_was_cut_short_is_repeated(lake: CatalogLake) -> None:
    lake.catalog().create_namespace("rpc")
    (lake.folder / "warehouse" / "rpc" / "pizzas" / "metadata").mkdir(parents=True)
    assert lake.tables().load(TABLE) is None
    assert lake.tables().names("rpc") == []
    lake.create()
    assert lake.tables().names("rpc") == [TABLE]


@pytest.mark.parametrize("key", ["write.metadata.path", "write.metadata.compression-codec"])
def test_metadata_that_no_reader_finds_is_refused(lake: CatalogLake, folder: Path, key: str) -> None:
    with pytest.raises(TableRefused), lake.tables().committing(TABLE):
        set_property(lake.load(), "zstd", key)
        set_property(lake.load(), "x")
    assert folder.exists()


@pytest.mark.parametrize(
    ("warehouse", "text"),
    [
        ("s3://bucket/wh", r"in an object store: s3:// has no rename .*type to rest, sql or"),
        ("gs://bucket/wh", "in an object store"),
        ("abfss://c@a.dfs.core.windows.net/wh", "in an object store"),
        ("hdfs://nn:8020/wh", "is in HDFS"),
        ("relative/wh", "no absolute path"),
        ("file://host/wh", "has a host"),
        ("/wh?x", "no part of a path"),
    ],
)
def test_warehouse_without_an_atomic_step_is_refused(lake: CatalogLake, warehouse: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        lake.connector(**{"iceberg.catalog.warehouse": warehouse})


@pytest.mark.parametrize("place", ["environment", "missing"])
def test_warehouse_is_checked_when_opened(lake: CatalogLake, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    if place == "environment":
        monkeypatch.setenv("PYICEBERG_CATALOG__ICEBERG__WAREHOUSE", "s3://bucket/wh")
        keys = {key: value for key, value in lake.connector().properties.items() if key != "iceberg.catalog.warehouse"}
        connector = parse_connector(keys)
    else:
        (lake.folder / "warehouse").rmdir()
        connector = lake.connector()
    with pytest.raises(
        CatalogMisconfigured, match="object store" if place == "environment" else "no folder .*mount it"
    ):
        CatalogClient.of(connector)


def test_lock_of_java_is_refused(lake: CatalogLake) -> None:
    with pytest.raises(ConfigError, match="do not let Java's writers commit at the same time"):
        lake.connector(**{"iceberg.catalog.lock-impl": "org.apache.iceberg.aws.dynamodb.DynamoDbLockManager"})
