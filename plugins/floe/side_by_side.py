"""Several calls at once, in a bounded time: one that does not return keeps neither the others nor the process waiting."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

T = TypeVar("T")


def side_by_side(jobs: Mapping[str, Callable[[], T]], threads: int, until: float) -> Iterator[tuple[str, T]]:
    """Yield what each job returns, with its name, as soon as it does; those that return by ``until`` (``time.monotonic``).

    Jobs begin in their order. They must not raise: one that does yields nothing. The threads are daemons: a process ends
    without those that hang, which Python's own pools wait for.
    """
    waiting: queue.SimpleQueue[tuple[str, Callable[[], T]]] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[str, T] | None] = queue.SimpleQueue()
    for item in jobs.items():
        waiting.put(item)

    def work() -> None:
        try:
            while time.monotonic() < until:
                name, job = waiting.get_nowait()
                done.put((name, job()))
        except queue.Empty:
            pass
        finally:
            done.put(None)

    running = min(threads, len(jobs))
    for number in range(running):
        threading.Thread(target=work, name=f"floe-{number}", daemon=True).start()
    while running:
        try:
            found = done.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            return
        if found is None:
            running -= 1
        else:
            yield found
