"""What a task changes of a process that goes on after it."""

import gc

import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from floe_job import housekeeping
from floe_job.housekeeping import RARELY, rare_housekeeping


def test_a_task_that_fails_leaves_the_search_for_cycles_as_it_was() -> None:
    before = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), rare_housekeeping():
        assert gc.get_threshold() == RARELY
        _ = 1 / 0
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


def test_c_libraries_without_glibcs_functions_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping.ctypes, "CDLL", lambda _: object())
    with rare_housekeeping():
        pass


def test_what_a_daemon_has_frozen_stays_frozen() -> None:
    gc.freeze()
    try:
        with rare_housekeeping():
            pass
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()


def test_what_a_task_needed_of_arrows_memory_is_given_back_at_its_end() -> None:
    process = psutil.Process()
    numbers = pa.array(range(100_000))
    before = process.memory_info().rss
    with rare_housekeeping():
        batches = [pc.add(numbers, i) for i in range(250)]
        assert process.memory_info().rss - before > 150_000_000
        del batches
    assert process.memory_info().rss - before < 20_000_000
