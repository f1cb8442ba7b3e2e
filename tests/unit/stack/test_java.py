"""A missing or old Java is said clearly."""

from __future__ import annotations

from pathlib import Path

import pytest

from stack.exceptions import Unsuitable
from stack.java import require_java


def fake(folder: Path, says: str) -> None:
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    program.chmod(0o755)


@pytest.mark.parametrize(("says", "major"), [('openjdk version "11.0.2"', "11"), ('java version "1.8.0_292"', "8")])
def test_an_old_java_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, major: str) -> None:
    fake(tmp_path, says)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(Unsuitable, match=f"is Java {major}: install Java 17"):
        require_java()


@pytest.mark.parametrize("says", ['openjdk version "17.0.15" 2025-04-15', 'openjdk version "21-ea"'])
def test_a_java_that_is_new_enough_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str) -> None:
    fake(tmp_path, says)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    require_java()


def test_a_missing_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unsuitable, match="no java on PATH: install Java 17"):
        require_java()
