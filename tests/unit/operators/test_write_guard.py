"""The outer guard ends a driver that hangs, and leaves one alone that goes on."""

import select
import signal
import threading
from types import SimpleNamespace

import pytest

from floe.exceptions import Retryable
from floe.model.exceptions import WriteTimeout
from floe.model.plan import Slice, SliceKind
from floe.operators import write_timeout as module
from floe.operators.write_timeout import GuardExpired, stuck, write_guard
from tests.support.partitions import span

SLICE = Slice(0, SliceKind.LIVE, (span(0, 1000),), ("a",))


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LATER", "START"):
        monkeypatch.setattr(module, name, 0.1)


def hang() -> None:
    """Hang in a call that may be interrupted at any moment; a lock may not, while it is restored."""
    select.select([], [], [], 30)


@pytest.mark.parametrize("begun", ["p/0", None])
def test_guard_ends_a_call_that_hangs(begun: str | None) -> None:
    with pytest.raises(GuardExpired), write_guard(1, lambda: begun):
        hang()
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


def test_guard_expires_again_where_a_library_lost_it() -> None:
    with pytest.raises(GuardExpired), write_guard(1, lambda: "p/0"):
        with pytest.raises(GuardExpired):
            hang()
        hang()


def test_guard_counts_anew_from_each_slice() -> None:
    looks = iter(range(100))
    ended = threading.Event()

    def begun() -> str:
        index = next(looks)
        if index == 30:  # three times what one slice has
            ended.set()
        return f"p/{index}"

    with write_guard(1, begun):
        assert ended.wait(30)


def test_guard_is_none_without_a_timeout_or_beside_airflows_own() -> None:
    with write_guard(None, lambda: "p/0"):
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    signal.setitimer(signal.ITIMER_REAL, 1000)
    try:
        with write_guard(1, lambda: "p/0"):
            assert signal.getitimer(signal.ITIMER_REAL)[0] > 900
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def test_stuck_driver_is_named_by_the_slice_it_had_begun() -> None:
    order = SimpleNamespace(
        connector=SimpleNamespace(reading=SimpleNamespace(write_timeout_ms=10_000)),
        plan=SimpleNamespace(slice_of=lambda _: SLICE),
    )
    found = stuck(order, "p/0")
    assert isinstance(found, WriteTimeout)
    assert found.slices == ("p/0",)
    assert "(10 s): the driver hung and was killed, in a live slice of 1000 offsets." in str(found)
    assert isinstance(stuck(order, None), Retryable)
