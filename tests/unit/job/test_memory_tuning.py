"""What a task changes of a process that goes on after it."""

import gc
import os
import subprocess
import sys

import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from floe_job import memory_tuning
from floe_job.memory_tuning import GC_THRESHOLDS, tuned_memory


def test_failed_task_restores_garbage_collection() -> None:
    before = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), tuned_memory():
        assert gc.get_threshold() == GC_THRESHOLDS
        _ = 1 / 0
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


def test_c_libraries_without_glibcs_functions_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_tuning.ctypes, "CDLL", lambda _: object())
    with tuned_memory():
        pass


def test_what_a_daemon_has_frozen_stays_frozen() -> None:
    memory_tuning._was_frozen.cache_clear()  # asked once in a process, as a daemon's workers are frozen from the start
    gc.freeze()
    try:
        for _ in range(2):
            with tuned_memory():
                pass
            assert gc.get_freeze_count()
    finally:
        gc.unfreeze()
        memory_tuning._was_frozen.cache_clear()


def test_arrow_memory_of_a_task_is_returned_at_its_end() -> None:
    process = psutil.Process()
    numbers = pa.array(range(100_000))
    before = process.memory_info().rss
    with tuned_memory():
        batches = [pc.add(numbers, i) for i in range(250)]
        assert process.memory_info().rss - before > 150_000_000
        del batches
    assert process.memory_info().rss - before < 20_000_000


def test_threads_take_their_memory_from_the_heaps_that_are_there() -> None:
    code = """
import ctypes, threading
from floe_job.memory_tuning import tuned_memory
libc = ctypes.CDLL(None)
libc.fdopen.restype, libc.malloc_info.argtypes = ctypes.c_void_p, (ctypes.c_int, ctypes.c_void_p)
together = threading.Barrier(17)
def take():
    together.wait()
    libc.malloc(100_000)
    together.wait()
libc.malloc_info(0, libc.fdopen(1, b"w"))
with tuned_memory():
    for _ in range(16):
        threading.Thread(target=take).start()
    together.wait()
    together.wait()
libc.malloc_info(0, libc.fdopen(1, b"w"))
libc.fflush(None)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    message = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    before, after = (text.count("<heap nr=") for text in message.stdout.split("</malloc>")[:2])
    assert before == after
