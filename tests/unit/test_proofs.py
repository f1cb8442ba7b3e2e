"""Proofs go on where they stopped, as long as the code is the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.soak.__main__ import main as soak
from tests.faults.soak.soak import Soak
from tests.support import proofs
from tests.support.repository import ROOT

PROOFS = """
import os

def test_one():
    pass

def test_two():
    assert "WRONG" not in os.environ
"""


def run(folder: Path, *more: str, **environ: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_proofs.py").write_text(PROOFS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.support.proofs", "-p", "no:cacheprovider", *more]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), proofs.FOLDER: str(folder / "passed"), **environ}
    command += ["-c", os.devnull, "--rootdir", str(folder), str(folder)]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)


def test_proofs_go_on_with_what_has_not_passed(tmp_path: Path) -> None:
    first = run(tmp_path, "-n", "1", WRONG="1")
    assert first.returncode == 1 and "1 failed, 1 passed" in first.stdout, first.stdout + first.stderr
    second = run(tmp_path)
    assert second.returncode == 0 and "1 passed" in second.stdout and "2 passed" not in second.stdout, second.stdout
    third = run(tmp_path)
    assert third.returncode == 0 and "2 passed before on the same code" in third.stdout, third.stdout + third.stderr


def test_fingerprint_is_that_of_the_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "REPOSITORY", tmp_path)
    code = tmp_path / "plugins"
    code.mkdir()
    (code / "a.py").write_text("1")
    first = proofs.fingerprint([code])
    (code / "a.pyc").write_text("bytecode")
    assert proofs.fingerprint([code]) == first
    (code / "a.py").write_text("2")
    assert proofs.fingerprint([code]) != first


def test_soak_of_hours_goes_on_with_the_part_it_was_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(proofs.FOLDER, str(tmp_path))
    monkeypatch.setattr("tests.faults.soak.__main__.logging.disable", lambda _: None)
    ran: list[tuple[int, float]] = []

    class Interrupted(Soak):
        def run(self) -> bool:
            ran.append((self.seed, self.minutes))
            if len(ran) == 2:
                raise KeyboardInterrupt
            return True

    monkeypatch.setattr("tests.faults.soak.__main__.Soak", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        soak(["60"])
    assert soak(["60"]) == 0
    first = ran[0][0]
    assert ran == [(seed, 20.0) for seed in (first, first + 1, first + 1, first + 2)]
    assert soak(["60", "7"]) == 0 and ran[4:] == [(7, 20.0), (8, 20.0), (9, 20.0)], "the first one is done"
    assert soak(["10", "7"]) == 0 and ran[7:] == [(7, 10.0)]
    assert not list(tmp_path.iterdir())
