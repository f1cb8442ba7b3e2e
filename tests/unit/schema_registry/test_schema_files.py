"""Schemas on disk."""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
import time
from pathlib import Path

import pytest

from floe.schema_registry.schema import RegisteredSchema, SchemaReference, SchemaText
from floe.schema_registry.schema_files import SchemaFiles

ONE = RegisteredSchema(
    SchemaText("AVRO", '"x.A" ä', (SchemaReference("x.A", "a", "1", "g"),), ("CEL",)),
    ((SchemaReference("x.A", "a", "1", "g"), SchemaText(None, '"int"')),),
)


def sized(characters: int) -> RegisteredSchema:
    return RegisteredSchema(SchemaText("JSON", "x" * characters))


def test_schema_is_read_as_it_was_stored(tmp_path: Path) -> None:
    files = SchemaFiles(tmp_path)
    assert files.load("abc-id-1") is None
    files.store("abc-id-1", ONE)
    assert SchemaFiles(tmp_path).load("abc-id-1") == ONE


def test_folder_and_files_are_of_this_user_alone(tmp_path: Path) -> None:
    files = SchemaFiles.open({"FLOE_CACHE_DIR": str(tmp_path / "cache")})
    assert files is not None
    files.store("a", ONE)
    folder = tmp_path / "cache" / "schemas"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()] == [0o600]


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", "{}", '{"format": 1}', "[" * 100_000, "\udcff"])
def test_damaged_file_counts_as_missing_and_is_replaced(tmp_path: Path, damage: str) -> None:
    files = SchemaFiles(tmp_path)
    files.store("a", ONE)
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage.encode(errors="surrogateescape"))
    assert files.load("a") is None
    files.store("a", ONE)
    assert files.load("a") == ONE


def test_changed_or_moved_file_counts_as_missing(tmp_path: Path) -> None:
    files = SchemaFiles(tmp_path)
    files.store("a", ONE)
    file = tmp_path / "a.json"
    fields = json.loads(file.read_text())
    (tmp_path / "b.json").write_text(json.dumps(fields))
    (tmp_path / "b.json").chmod(0o600)
    assert files.load("b") is None
    fields["schema"]["schema"]["text"] = '"long"'
    file.write_text(json.dumps(fields))
    assert files.load("a") is None


def test_file_that_others_can_write_counts_as_missing(tmp_path: Path) -> None:
    files = SchemaFiles(tmp_path)
    files.store("a", ONE)
    (tmp_path / "a.json").chmod(0o666)
    assert files.load("a") is None


def test_link_counts_as_missing(tmp_path: Path) -> None:
    files = SchemaFiles(tmp_path)
    files.store("a", ONE)
    (tmp_path / "a.json").rename(tmp_path / "elsewhere")
    (tmp_path / "a.json").symlink_to(tmp_path / "elsewhere")
    assert files.load("a") is None


def test_number_of_files_is_bounded_and_the_oldest_leave(tmp_path: Path) -> None:
    files = SchemaFiles(tmp_path, max_files=3)
    for at, name in enumerate("abc"):
        files.store(name, ONE)
        os.utime(tmp_path / f"{name}.json", (1000 + at, 1000 + at))
    assert files.load("a") == ONE  # it is the newest now
    files.store("d", ONE)
    assert sorted(file.stem for file in tmp_path.iterdir()) == ["a", "c", "d"]


def test_bytes_are_bounded(tmp_path: Path) -> None:
    files = SchemaFiles(tmp_path, max_bytes=3000)
    for at, name in enumerate("abcd"):
        files.store(name, sized(1000))
        os.utime(tmp_path / f"{name}.json", (1000 + at, 1000 + at))
    assert sorted(file.stem for file in tmp_path.iterdir()) == ["c", "d"]
    files.store("e", sized(5000))
    assert files.load("e") is None
    assert files.load("d") is not None


def test_unfinished_files_of_dead_processes_are_removed(tmp_path: Path) -> None:
    for name, age in (("writing-old", 7200), ("writing-new", 10)):
        (tmp_path / name).write_text("{")
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    SchemaFiles(tmp_path).store("a", ONE)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.json", "writing-new"]


def test_folder_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    files = SchemaFiles(tmp_path / "missing")
    files.store("a", ONE)
    assert files.load("a") is None


@pytest.mark.parametrize("mode", [0o750, 0o705, 0o777])
def test_folder_that_others_can_read_is_not_used(tmp_path: Path, mode: int, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas").chmod(mode)
    assert SchemaFiles.open({"FLOE_CACHE_DIR": str(tmp_path)}) is None
    assert "not kept on disk" in caplog.text


def test_no_cache_folder_means_no_files() -> None:
    assert SchemaFiles.open({"FLOE_CACHE_DIR": ""}) is None


def _write_and_read(folder: str, process: int) -> int:
    files = SchemaFiles(Path(folder), max_files=5)
    damaged = 0
    for turn in range(40):
        name = f"n{(turn + process) % 8}"
        found = files.load(name)
        damaged += found is not None and found != ONE
        files.store(name, ONE)
    return damaged


def test_processes_use_the_folder_together(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert pool.starmap(_write_and_read, [(str(tmp_path), process) for process in range(3)]) == [0, 0, 0]
    left = [file.name for file in tmp_path.iterdir()]
    assert len(left) <= 8
    assert not any(name.startswith("writing-") for name in left)
