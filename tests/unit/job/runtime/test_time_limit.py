"""A slice has so long to be written: what takes longer is cancelled, and may not announce any more."""

import threading
from dataclasses import dataclass, field

import pytest

from floe.exceptions import Terminal
from floe.model.exceptions import WriteTimeout
from floe.model.plan import Slice, SliceKind
from floe_job.driver.slice_job import AnnounceGate
from floe_job.runtime import time_limit
from floe_job.runtime.time_limit import TimeLimit
from tests.support.partitions import span

SLICE = Slice(0, SliceKind.LIVE, (span(0, 1000),), ("a",))


@dataclass
class Jobs:
    """Spark, as far as a time limit knows it."""

    ends: threading.Event = field(default_factory=threading.Event)
    answers: bool = True

    def cancel(self) -> None:
        if not self.answers:
            threading.Event().wait()
        self.ends.set()

    def progress(self) -> str:
        if not self.answers:
            threading.Event().wait()
        return "3 of 8 tasks were done"


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limit, "GRACE", 0.05)
    monkeypatch.setattr(time_limit, "AGAIN", 0.01)


def test_write_in_time_returns_what_it_returns_and_may_announce() -> None:
    def write(gate: AnnounceGate) -> str:
        gate.begin()
        return "p/0"

    assert TimeLimit(60_000, SLICE, Jobs()).run(write) == "p/0"


def test_write_that_fails_raises_its_own_error() -> None:
    def write(_: object) -> str:
        msg = "the broker is away"
        raise OSError(msg)

    with pytest.raises(OSError, match="the broker is away"):
        TimeLimit(60_000, SLICE, Jobs()).run(write)


def test_write_that_takes_too_long_is_cancelled_and_says_so() -> None:
    jobs = Jobs()

    def write(_: object) -> str:
        assert jobs.ends.wait(30)
        msg = "the job was cancelled"
        raise RuntimeError(msg)

    with pytest.raises(WriteTimeout) as found:
        TimeLimit(20, SLICE, jobs).run(write)
    assert isinstance(found.value, Terminal)
    text = str(found.value)
    assert text.startswith("the write took longer than floe.write.timeout (0.02 s): 3 of 8 tasks were done after 0.")
    assert text.endswith("in a live slice of 1000 offsets. Nothing of it was announced.")


def test_job_started_after_the_time_is_cancelled_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limit, "GRACE", 30.0)
    cancelled, started = threading.Event(), threading.Event()

    class Late(Jobs):
        def cancel(self) -> None:
            cancelled.set()
            if started.is_set():
                self.ends.set()

    jobs = Late()

    def write(_: object) -> None:
        assert cancelled.wait(30)
        started.set()
        assert jobs.ends.wait(30)

    with pytest.raises(WriteTimeout):
        TimeLimit(20, SLICE, jobs).run(write)
    assert jobs.ends.is_set()


def test_write_that_hangs_is_left_behind_and_cannot_announce() -> None:
    """Neither Spark nor the write answers."""
    goes_on, refused = threading.Event(), threading.Event()

    def write(gate: AnnounceGate) -> None:
        assert goes_on.wait(30)
        try:
            gate.begin()
        except WriteTimeout:
            refused.set()

    with pytest.raises(WriteTimeout, match="Spark does not answer"):
        TimeLimit(20, SLICE, Jobs(answers=False)).run(write)
    goes_on.set()
    assert refused.wait(30)


def test_write_that_is_announcing_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    expired = threading.Event()

    class Watched(AnnounceGate):
        def close(self) -> bool:
            try:
                return super().close()
            finally:
                expired.set()

    def write(gate: AnnounceGate) -> str:
        gate.begin()
        assert expired.wait(30)
        return "p/0"

    monkeypatch.setattr(time_limit, "AnnounceGate", Watched)
    assert TimeLimit(20, SLICE, Jobs()).run(write) == "p/0"
