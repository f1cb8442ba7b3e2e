"""Modules of transforms in Python on their way to Spark: in the archive, and in the folder of a local job."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from floe.config.transforms.python_class import PythonClass
from floe.operators.spark import code_archive
from floe.operators.write import WriteFilesOperator
from tests.support.job.python_classes import Modules, python_transform, source
from tests.support.tables.lake import Lake

READ = (
    "import sys; from tests.support.job.python_classes import python_class; "
    "sys.path[:] = [p for p in sys.path if p not in ('', sys.argv[1])]; "
    "print(python_class('shipped.deep.own.Own', 'shipped.*').sha256); import shipped.deep.own as own; print(own.__file__)"
)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, str], str]:
    """The modules of a package, and their hash."""
    (tmp_path / "path").mkdir()
    modules = Modules(tmp_path / "path", monkeypatch)
    modules.write("shipped.deep.own", "# ü\n" + source("return batch"))
    spec = python_transform("shipped.deep.own.Own", "shipped.*")
    monkeypatch.setenv("FLOE_CACHE_DIR", "")
    assert isinstance(spec.options, PythonClass)
    present, source_files = spec.options.read()
    return dict(source_files.files), present.sha256


def read_in_worker(path: str) -> list[str]:
    """Read and import the class in a process that has this path."""
    here = os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path if "site-packages" in entry)
    root = str(Path(__file__).parents[4])
    env = {"PYTHONPATH": os.pathsep.join([path, here, root])}
    done = subprocess.run([sys.executable, "-c", READ, "-"], env=env, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_archive_has_modules_with_the_hash_of_the_plan(files: tuple[dict[str, str], str], tmp_path: Path) -> None:
    own, sha256 = files
    plain, packed = code_archive.archive(tmp_path), code_archive.archive(tmp_path, own)
    assert plain.name != packed.name, "a session of Spark Connect has the code of its archive"
    with zipfile.ZipFile(packed) as content:
        assert set(own) <= set(content.namelist())
    assert set(own) == {"shipped/__init__.py", "shipped/deep/__init__.py", "shipped/deep/own.py"}
    assert read_in_worker(str(packed)) == [sha256, f"{packed}/shipped/deep/own.py"]


def test_folder_of_a_local_job_has_the_modules(files: tuple[dict[str, str], str], tmp_path: Path) -> None:
    own, sha256 = files
    added = code_archive.own_folder(tmp_path, own)
    assert added == tmp_path / "own"
    assert read_in_worker(code_archive.python_path(added)) == [sha256, f"{tmp_path}/own/shipped/deep/own.py"]
    assert code_archive.own_folder(tmp_path, {}) is None


def test_spark_job_finds_the_folder_first(tmp_path: Path) -> None:
    write = WriteFilesOperator(task_id="write", connector=Lake(tmp_path).connector())
    write._prepare(tmp_path / "order.json", {}, Path("/own"))
    assert write._environment["PYTHONPATH"] == f"/own{os.pathsep}{code_archive.python_path()}"
