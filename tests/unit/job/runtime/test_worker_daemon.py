"""What floe's daemon does before it forks Spark's Python workers."""

from __future__ import annotations

import gc
import importlib
import sys
import zipimport
from pathlib import Path
from zipfile import ZipFile

import pytest

from floe_job.runtime import worker_daemon


@pytest.fixture
def as_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process be the daemon for a moment."""
    monkeypatch.setattr(worker_daemon, "manager", lambda: None)
    monkeypatch.setattr(sys, "path_importer_cache", dict(sys.path_importer_cache))
    monkeypatch.setattr(sys, "path_hooks", list(sys.path_hooks))
    monkeypatch.setattr(gc, "freeze", lambda: None)


def archive_of(folder: Path, name: str, *modules: str) -> str:
    """Write an archive of packages, each with one module."""
    archive = folder / name
    with ZipFile(archive, "w") as packed:
        for module in modules:
            packed.writestr(f"{module}/__init__.py", "")
            packed.writestr(f"{module}/inner.py", "")
    return str(archive)


@pytest.mark.usefixtures("as_daemon")
def test_archives_are_read_once_and_still_imported_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sparks = archive_of(tmp_path, "spark.zip", "floe_test_first", "floe_test_second")
    monkeypatch.syspath_prepend(sparks)
    importlib.import_module("floe_test_first.inner")
    worker_daemon.run()
    sessions = archive_of(tmp_path, "session.zip", "floe_test_third", "floe_test_fourth")
    monkeypatch.syspath_prepend(sessions)  # as Spark does in a worker, after it was forked
    importlib.import_module("floe_test_third.inner")
    read: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(zipimport, "_read_directory", lambda path: read.append(path) or {})
        importlib.invalidate_caches()  # what a worker does before each task
    assert not {sparks, sessions} & set(read)
    for name in ("floe_test_second.inner", "floe_test_fourth.inner"):
        importlib.import_module(name)
    for name in [name for name in sys.modules if name.startswith("floe_test_")]:
        sys.modules.pop(name)


def test_what_is_imported_is_no_garbage_to_be_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen: list[int] = []
    monkeypatch.setattr(worker_daemon, "manager", lambda: frozen.append(gc.get_freeze_count()))
    monkeypatch.setattr(sys, "path_hooks", list(sys.path_hooks))
    monkeypatch.setattr(sys, "path_importer_cache", dict(sys.path_importer_cache))
    try:
        worker_daemon.run()
    finally:
        gc.unfreeze()
    assert frozen[0] > 10_000
