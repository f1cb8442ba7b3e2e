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
    monkeypatch.setattr(gc, "freeze", lambda: None)


@pytest.mark.usefixtures("as_daemon")
def test_an_archive_is_not_listed_anew_and_still_imported_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "spark.zip"
    with ZipFile(archive, "w") as packed:
        packed.writestr("floe_test_first.py", "")
        packed.writestr("floe_test_second.py", "")
    monkeypatch.syspath_prepend(str(archive))
    importlib.import_module("floe_test_first")
    worker_daemon.run()
    listed: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(zipimport, "_read_directory", lambda path: listed.append(path) or {})
        importlib.invalidate_caches()  # what a worker does before each task
    assert str(archive) not in listed
    assert isinstance(sys.path_importer_cache[str(archive)], worker_daemon.SparksArchive)
    importlib.import_module("floe_test_second")
    for name in ("floe_test_first", "floe_test_second"):
        sys.modules.pop(name, None)


def test_what_is_imported_is_no_garbage_to_be_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen: list[int] = []
    monkeypatch.setattr(worker_daemon, "manager", lambda: frozen.append(gc.get_freeze_count()))
    try:
        worker_daemon.run()
    finally:
        gc.unfreeze()
    assert frozen[0] > 10_000
