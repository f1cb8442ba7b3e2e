"""Announced files: those that count, and those that void the announcement."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from floe.control.wire.events import FileContent
from floe.exceptions import Terminal
from floe.tables.exceptions import AnnouncementVoid
from tests.support.tables.foreign_changes import append_foreign
from tests.support.tables.lake import Lake, expected
from tests.support.tables.slices import Write, Written


def voids(written: Written, match: str) -> None:
    """Land, have the announcement voided, and nothing of it committed."""
    before = written.lake.load().metadata_location
    with pytest.raises(AnnouncementVoid, match=match) as caught:
        written.land()
    assert isinstance(caught.value, Terminal)
    assert written.lake.load().metadata_location == before


def local(location: str) -> Path:
    return Path(location.removeprefix("file://"))


@pytest.fixture
def foreign_file(lake: Lake) -> Callable[[Written], Path]:
    """Copy a slice's file to a place outside the table."""

    def make(written: Written) -> Path:
        outside = lake.folder / "warehouse" / "other" / "secret.parquet"
        outside.parent.mkdir(exist_ok=True)
        outside.write_bytes(local(written.files[0].file_path).read_bytes())
        return outside

    return make


@pytest.mark.parametrize(
    "forge",
    [
        pytest.param(lambda table, outside: f"file://{outside}", id="elsewhere"),
        pytest.param(lambda table, outside: str(outside), id="elsewhere without scheme"),
        pytest.param(lambda table, outside: f"{table}/../../other/secret.parquet", id="dots"),
        pytest.param(lambda table, outside: f"{table}/data/../../../other/secret.parquet", id="dots in the middle"),
        pytest.param(lambda table, outside: f"{table}/./../../other/secret.parquet", id="a dot and dots"),
        pytest.param(lambda table, outside: f"{table}//..//..//other/secret.parquet", id="dots and slashes"),
        pytest.param(lambda table, outside: f"{table}/x#/../../../other/secret.parquet", id="dots after a hash"),
        pytest.param(lambda table, outside: f"{table}/x?/../../../other/secret.parquet", id="dots after a question"),
        pytest.param(
            lambda table, outside: f"{local(table)}/x#/../../../other/secret.parquet", id="a hash without scheme"
        ),
        pytest.param(
            lambda table, outside: f"{local(table)}/x?/../../../other/secret.parquet", id="a question without scheme"
        ),
        pytest.param(
            lambda table, outside: f"{local(table)}/../../other/secret.parquet?/../../rpc/pizzas/x", id="dots before"
        ),
        pytest.param(lambda table, outside: f"{table}-2/x.parquet", id="a name that begins alike"),
        pytest.param(lambda table, outside: table, id="the table itself"),
        pytest.param(lambda table, outside: f"s3://bucket{local(table)}/x.parquet", id="another store"),
        pytest.param(lambda table, outside: f"file://host{local(table)}/x.parquet", id="another host"),
        pytest.param(lambda table, outside: "", id="nothing"),
        pytest.param(lambda table, outside: "x.parquet", id="a relative name"),
    ],
)
def test_file_outside_table_location_voids_the_announcement(
    lake: Lake, write: Write, foreign_file: Callable[[Written], Path], forge: Callable[[str, Path], str]
) -> None:
    table = lake.create()
    written = write((0, 0, 5))
    path = forge(table.location(), foreign_file(written))
    voids(written.with_files(replace(written.files[0], file_path=path)), "outside.*control topic")


def test_a_file_that_a_hash_hides_would_be_opened_outside(lake: Lake, write: Write) -> None:
    """Why the checks above look at the whole name: PyIceberg reads a path without scheme literally."""
    table = lake.create()
    outside = lake.folder / "warehouse" / "other.parquet"
    outside.write_bytes(b"12345")
    assert len(table.io.new_input(f"{local(table.location())}/x#/../../../other.parquet")) == 5


@pytest.mark.parametrize("spell", [str, lambda path: path.replace("/data/", "/data/./"), local])
def test_a_file_inside_counts_however_it_is_spelt(lake: Lake, write: Write, spell: Callable[[str], Any]) -> None:
    lake.create()
    written = write((0, 0, 5))
    written.with_files(replace(written.files[0], file_path=str(spell(written.files[0].file_path)))).land()
    assert lake.rows() == expected((0, 5))


def test_files_below_write_data_path_count(lake: Lake, write: Write) -> None:
    lake.create(properties={"write.data.path": f"file://{lake.folder}/elsewhere/data"})
    written = write((0, 0, 5))
    assert written.files[0].file_path.startswith(f"file://{lake.folder}/elsewhere/data/")
    written.land()
    assert lake.rows() == expected((0, 5))


def test_files_beside_write_data_path_do_not(lake: Lake, write: Write) -> None:
    lake.create(properties={"write.data.path": f"file://{lake.folder}/elsewhere/data"})
    written = write((0, 0, 5))
    path = written.files[0].file_path.replace("/data/", "/data/../")
    voids(written.with_files(replace(written.files[0], file_path=path)), "outside")


def test_a_missing_file_voids_the_announcement(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5))
    local(written.files[0].file_path).unlink()
    voids(written, "does not exist.*Run again")


@pytest.mark.parametrize("off_by", [-1, 1])
def test_a_file_of_another_size_voids_the_announcement(lake: Lake, write: Write, off_by: int) -> None:
    lake.create()
    written = write((0, 0, 5))
    size = written.files[0].file_size_in_bytes
    forged = replace(written.files[0], file_size_in_bytes=size + off_by)
    voids(written.with_files(forged), rf"has {size} bytes but was announced with {size + off_by}")


def test_a_folder_is_no_file(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5))
    folder = written.files[0].file_path.rpartition("/")[0]
    voids(written.with_files(replace(written.files[0], file_path=folder)), "is not a file|outside|does not exist")


def test_a_file_that_is_announced_twice_voids_the_announcement(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5))
    voids(written.with_files(written.files[0], written.files[0]), "announced twice")


def test_file_announced_twice_in_two_spellings_is_void(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5))
    again = replace(written.files[0], file_path=written.files[0].file_path.replace("/data/", "/data/./"))
    voids(written.with_files(written.files[0], again), "announced twice")


@pytest.mark.parametrize("content", [FileContent.POSITION_DELETES, FileContent.EQUALITY_DELETES])
def test_a_delete_file_voids_the_announcement(lake: Lake, write: Write, content: FileContent) -> None:
    lake.create()
    written = write((0, 0, 5))
    voids(written.with_files(replace(written.files[0], content=content)), f"{content.name}.*data files only")


def test_a_file_of_another_format_voids_the_announcement(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5))
    voids(written.with_files(replace(written.files[0], file_format="ORC")), "Parquet data files only")


def test_one_file_that_does_not_count_voids_all_of_them(lake: Lake, write: Write) -> None:
    lake.create()
    append_foreign(lake, 1)
    good, bad = write((0, 0, 5)), write((0, 0, 5))
    local(bad.files[0].file_path).unlink()
    voids(good.with_files(*good.files, *bad.files), "does not exist")
    assert lake.rows() == [(99, 1)]


def test_files_of_a_repeat_are_not_looked_for(lake: Lake, write: Write) -> None:
    lake.create()
    first, zombie = write((0, 0, 5)), write((0, 0, 5))
    first.land()
    local(zombie.files[0].file_path).unlink()
    assert zombie.land().already
