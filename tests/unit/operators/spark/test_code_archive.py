"""The library as Spark's workers get it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from zipimport import zipimporter

import pytest

from floe.operators.spark import bundle, code_archive
from floe.operators.spark.code_archive import marshalled
from floe.operators.spark.worker_modules import sources, worker_modules

MOST_BYTES = 1_500_000
LONG_AGO = time.time_ns() - 3_600_000_000_000


def test_archive_is_packed_once_and_equal_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOE_CACHE_DIR", "")
    here, there = (code_archive.archive(folder) for folder in (tmp_path, _made(tmp_path / "there")))
    assert here.read_bytes() == there.read_bytes()
    assert here.name == there.name
    monkeypatch.setenv("FLOE_CACHE_DIR", str(tmp_path / "cache"))
    kept = code_archive.archive(tmp_path / "nowhere")
    assert kept.parent == tmp_path / "cache"
    assert kept.name == here.name
    packed = kept.stat().st_mtime_ns
    assert code_archive.archive(tmp_path / "nowhere").stat().st_mtime_ns == packed


def test_archive_is_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOE_CACHE_DIR", "")
    assert code_archive.archive(tmp_path).stat().st_size <= MOST_BYTES


def test_workers_get_what_their_tasks_import_and_no_more() -> None:
    names = worker_modules(sources())
    assert {"floe/__init__.py", "floe_job/task/read_task.py", "floe/parquet/table_writer.py"} <= set(names)
    assert not [name for name in names if name.startswith(("floe/operators/", "floe/api/", "floe_job/driver/"))]


def test_checkout_is_on_the_path_of_drivers_and_what_is_installed_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout, installed = tmp_path / "spark_jobs" / "floe_job", tmp_path / "lib" / "site-packages" / "floe"
    folders = {"floe": installed, "floe_job": checkout}
    monkeypatch.setattr(code_archive, "folder_of", lambda package: folders[package])
    assert code_archive.python_path() == str(checkout.parent)
    assert code_archive.python_path(tmp_path / "own") == f"{tmp_path / 'own'}{os.pathsep}{checkout.parent}"


def test_no_module_of_workers_uses_names_that_are_loaded_by_text() -> None:
    files = sources()
    for name in worker_modules(files):
        if name != "floe/config/__init__.py":
            text = Path(files[name]).read_text(encoding="utf-8")
            assert "from floe.config import" not in text, f"{name}: import from its module"


def test_a_worker_loads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOE_CACHE_DIR", "")
    archive = code_archive.archive(tmp_path, {"pizza_rules.py": "PRICE = 9\n"})
    code = (
        "import floe_job.task.read_task as it, floe, floe_job, pizza_rules\n"
        "print(it.__file__, it.run_task.__code__.co_filename, floe.__version__, bool(floe_job.__doc__), pizza_rules.PRICE)"
    )
    done = _worker(archive, code)
    file = "floe_job/task/read_task.py"
    assert done.stdout.split() == [f"{archive}/{file}", file, "0.1.0", "True", "9"], done.stderr


def test_a_worker_can_load_every_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOE_CACHE_DIR", "")
    archive = code_archive.archive(tmp_path)
    files = worker_modules(sources())
    names = [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in files]
    names.remove("floe_job.runtime.worker_daemon")  # it is run, not imported
    code = f"from importlib import import_module\nfor name in {names}: import_module(name)\nprint('all')"
    done = _worker(archive, code)
    assert done.stdout.strip() == "all", done.stderr


def test_another_python_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MAGIC_NUMBER", b"old\n")
    content = bundle.packed({})
    monkeypatch.undo()
    archive = SimpleNamespace(archive="/nowhere/floe.zip", get_data=lambda _: content)
    with pytest.raises(ImportError, match="packed by another version of Python"):
        bundle.Bundle.of(cast(zipimporter, archive))


def test_code_that_cannot_be_marshalled_goes_as_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOE_CACHE_DIR", "")
    monkeypatch.setattr(code_archive, "marshalled", lambda name, path: None)
    done = _worker(code_archive.archive(tmp_path), "import floe; print(floe.__version__)")
    assert done.stdout.strip() == "0.1.0", done.stderr


def test_bytecode_says_nothing_of_where_it_was_made(tmp_path: Path) -> None:
    source = b"def f(x):\n    return [y for y in x]\n"
    made = []
    for folder in (_made(tmp_path / "a"), _made(tmp_path / "b")):
        (folder / "m.py").write_bytes(source)
        made.append(marshalled("p/m.py", folder / "m.py"))
    assert made[0] == made[1]
    assert made[0] is not None
    assert str(tmp_path).encode() not in made[0]


# -- an edited file ---------------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A library of two modules, and a cache."""
    module = tmp_path / "plugins" / "floe" / "__init__.py"
    job = tmp_path / "spark_jobs" / "floe_job" / "__init__.py"
    for path in (module, job):
        path.parent.mkdir(parents=True)
        path.write_text("PRICE = 7\n")
    folders = {"floe": module.parent, "floe_job": job.parent}
    monkeypatch.setattr("floe.operators.spark.worker_modules.folder_of", lambda package: folders[package])
    monkeypatch.setattr("floe.operators.spark.worker_modules.LOADED_BY_NAME", ("floe", "floe_job"))
    monkeypatch.setenv("FLOE_CACHE_DIR", str(tmp_path / "cache"))
    yield module


def _wait_until_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    later = time.time_ns() + 3_600_000_000_000
    monkeypatch.setattr(code_archive.time, "time_ns", lambda: later)


def test_an_edit_in_the_same_moment_makes_another_archive(tree: Path, tmp_path: Path) -> None:
    first = code_archive.archive(tmp_path)
    before = tree.stat()
    tree.write_text("PRICE = 8\n")
    os.utime(tree, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert code_archive.archive(tmp_path) != first
    tree.write_text("PRICE = 7\n")
    assert code_archive.archive(tmp_path) == first


def test_settled_files_are_not_read_again(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _wait_until_settled(monkeypatch)
    first = code_archive.archive(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", lambda path: pytest.fail(f"{path} was read"))
        assert code_archive.archive(tmp_path) == first


@pytest.mark.parametrize("keeps_time", [True, False])
def test_an_edit_of_a_settled_file_makes_another_archive(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, keeps_time: bool
) -> None:
    os.utime(tree, ns=(LONG_AGO, LONG_AGO))
    _wait_until_settled(monkeypatch)
    first = code_archive.archive(tmp_path)
    tree.write_text("PRICE = 8\n")
    if keeps_time:
        os.utime(tree, ns=(LONG_AGO, LONG_AGO))
    assert code_archive.archive(tmp_path) != first


def _worker(archive: Path, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(archive)}, capture_output=True, text=True
    )


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
