"""A service that is a process of its own: started, found by its record, ended, and named when it does not start."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import ClassVar

import pytest

from stack import processes
from stack.exceptions import StartFailed
from stack.services.recorded_service import RecordedService

READY = "from pathlib import Path; Path('ready').touch(); import time; time.sleep(60)"


class Sleeper(RecordedService):
    """A throw-away service: a Python program that makes a file when it is ready."""

    name: ClassVar[str] = "deep sleeper"
    ready_within: ClassVar[float] = 10.0

    def __init__(self, folder: Path, program: str) -> None:
        super().__init__(folder, 1234)
        self._program = program

    def start(self) -> None:
        self._launch([sys.executable, "-c", self._program], (self.folder / "ready").exists)


@pytest.mark.parametrize("end", [RecordedService.stop, RecordedService.kill])
def test_service_is_found_by_its_record_until_it_ends(tmp_path: Path, end: object) -> None:
    Sleeper(tmp_path, READY).start()
    found = Sleeper(tmp_path, READY)
    process = found.process
    assert process is not None
    assert found.running
    assert (found.record.name, found.address) == ("deep-sleeper.json", "127.0.0.1:1234")
    assert callable(end)
    end(found)
    assert not found.running
    assert found.process is None
    assert processes.family(process) == []
    found.stop()


def test_service_that_ends_is_named_with_its_last_lines(tmp_path: Path) -> None:
    service = Sleeper(tmp_path, "raise SystemExit('the bed is broken')")
    with pytest.raises(StartFailed, match=r"the deep sleeper ended; the end of .*deep-sleeper.log:\nthe bed is broken"):
        service.start()
    assert service.process is None


def test_service_that_does_not_answer_in_time_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sleeper, "ready_within", 0.2)
    service = Sleeper(tmp_path, "import time; time.sleep(60)")
    with pytest.raises(StartFailed, match=r"did not answer at 127.0.0.1:1234 within 0 s"):
        service.start()
    assert service.process is None
