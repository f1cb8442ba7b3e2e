"""The schema registry is unpacked once, and only as it was published."""

from __future__ import annotations

import hashlib
import tarfile
from pathlib import Path

import pytest

from stack import jars
from stack.exceptions import DownloadFailed
from stack.services import schema_registry


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is fetched instead of the real archive, in a set of its own."""
    runner = tmp_path / schema_registry.RUNNER
    runner.write_text("jar")
    file = tmp_path / "cache" / "sets" / "abc" / "registry.tar.gz"
    file.parent.mkdir(parents=True)
    with tarfile.open(file, "w:gz") as packed:
        packed.add(runner, runner.name)
    monkeypatch.setattr(jars, "resolve", lambda *args, **options: [file])
    return file


def test_archive_is_unpacked_once(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_registry, "SHA256", hashlib.sha256(archive.read_bytes()).hexdigest())
    folder = schema_registry.installed(tmp_path / "cache")
    assert (folder / schema_registry.RUNNER).read_text() == "jar"
    assert not archive.exists()
    assert schema_registry.installed(tmp_path / "cache") == folder


def test_other_archive_is_deleted(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(DownloadFailed, match=schema_registry.SHA256):
        schema_registry.installed(tmp_path / "cache")
    assert not archive.exists()
    assert not list((tmp_path / "cache").glob("apicurio*"))
