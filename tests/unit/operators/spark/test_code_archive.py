"""The library as Spark's workers get it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from floe.operators.spark import code_archive
from floe.operators.spark.code_archive import bytecode


def test_archive_is_packed_once_and_equal_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOE_CACHE_DIR", "")
    here, there = (code_archive.archive(folder) for folder in (tmp_path, _made(tmp_path / "there")))
    assert here.read_bytes() == there.read_bytes()
    assert here.name == there.name
    monkeypatch.setenv("FLOE_CACHE_DIR", str(tmp_path / "cache"))
    kept = code_archive.archive(tmp_path / "nowhere")
    assert kept.parent == tmp_path / "cache"
    packed = kept.stat().st_mtime_ns
    assert code_archive.archive(tmp_path / "nowhere").stat().st_mtime_ns == packed


def test_a_worker_reads_bytecode_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOE_CACHE_DIR", "")
    archive = code_archive.archive(tmp_path)
    with zipfile.ZipFile(archive) as packed:
        names = set(packed.namelist())
    assert {name for name in names if name.endswith(".pyc")} == {f"{n}c" for n in names if n.endswith(".py")}
    code = "import floe_job.task.read_task as it; print(it.__file__, it.run_task.__code__.co_filename)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(archive)}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [f"{archive}/floe_job/task/read_task.pyc", "floe_job/task/read_task.py"]


def test_bytecode_says_nothing_of_where_it_was_made(tmp_path: Path) -> None:
    source = b"def f(x):\n    return [y for y in x]\n"
    made = []
    for folder in (_made(tmp_path / "a"), _made(tmp_path / "b")):
        (folder / "m.py").write_bytes(source)
        made.append(bytecode("p/m.py", folder / "m.py", source))
    assert made[0] == made[1]
    assert made[0] is not None
    assert str(tmp_path).encode() not in made[0]


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
