"""Jars are asked for once."""

from __future__ import annotations

from pathlib import Path

import pytest

from stack import jars
from stack.exceptions import DownloadFailed


def test_a_resolved_set_is_taken_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def ivy(work: Path, cache: Path) -> None:
        calls.append((work / "ivy.xml").read_text())
        (work / "jars").mkdir()
        (work / "jars" / "a.tar.gz").touch()

    monkeypatch.setattr(jars, "_run_ivy", ivy)
    first = jars.resolve(["g:a:1:tar.gz:all"], tmp_path)
    assert jars.resolve(["g:a:1:tar.gz:all"], tmp_path) == first
    assert [path.name for path in first] == ["a.tar.gz"]
    assert len(calls) == 1
    assert 'm:classifier="all"' in calls[0]


def test_a_failed_download_leaves_no_set_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ivy(work: Path, cache: Path) -> str:
        (work / "jars").mkdir(exist_ok=True)
        return "not found"

    monkeypatch.setattr(jars, "_run_ivy", ivy)
    monkeypatch.setattr("time.sleep", lambda _: None)
    with pytest.raises(DownloadFailed, match=r"not found\nCheck the network"):
        jars.resolve(["g:a:1"], tmp_path)
    assert list((tmp_path / "sets").iterdir()) == []
    assert list(tmp_path.glob("fetching-*")) == []


def test_a_damaged_jar_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ivy(work: Path, cache: Path) -> None:
        (work / "jars").mkdir()
        (work / "jars" / "half.jar").write_bytes(b"PK\x03\x04")

    monkeypatch.setattr(jars, "_run_ivy", ivy)
    with pytest.raises(DownloadFailed, match=r"half\.jar"):
        jars.resolve(["g:a:1"], tmp_path)


@pytest.mark.parametrize("package", ["a:b", "a::c", "a:b:c:d:e:f"])
def test_what_is_no_package_is_refused(tmp_path: Path, package: str) -> None:
    with pytest.raises(DownloadFailed, match="is not a package"):
        jars.resolve([package], tmp_path)
