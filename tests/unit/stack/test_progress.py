"""A step says that it began, that it goes on, and how it ended."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from stack import jars, progress
from stack.progress import step


def test_step_that_goes_on_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.01)
    asked = threading.Event()

    def so_far() -> str:
        asked.set()
        return "3 MB"

    with step("jars", so_far):
        assert asked.wait(30)
    first, second, *_, last = capsys.readouterr().out.splitlines()
    assert first == "  … jars"
    assert re.fullmatch(r"  … jars: \d+ s, 3 MB", second)
    assert last.startswith("  ✓ jars (")


def test_step_that_is_quick_says_two_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError), step("division"):
        raise ZeroDivisionError
    assert [line[:12] for line in capsys.readouterr().out.splitlines()] == ["  … division", "  ✗ division"]


def test_what_arrives_is_counted_from_now_on(tmp_path: Path) -> None:
    (tmp_path / "before.jar").write_bytes(bytes(5_000_000))
    arrived = jars.arrived(tmp_path)
    assert arrived() == "0 MB"
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "new.jar").write_bytes(bytes(2_000_000))
    assert arrived() == "2 MB"
    (tmp_path / "before.jar").unlink()
    assert arrived() == "0 MB", "never less than nothing"
