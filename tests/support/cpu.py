"""What something costs in processor time, in a process that does other things too: the least of several tries.

A collection of all objects of the test process, or a thread of another test, may fall into one of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable


def least_cpu_seconds(act: Callable[[], object], tries: int = 3) -> float:
    """Return the seconds of the cheapest try."""
    times = []
    for _ in range(tries):
        began = time.process_time()
        act()
        times.append(time.process_time() - began)
    return min(times)


def growth(cost: Callable[[int], object], size: int, tries: int = 15) -> float:
    """Return how much more four times the size costs: 4 where the cost is linear, 16 where it is quadratic."""
    whole = least_cpu_seconds(lambda: cost(4 * size), tries)
    return whole / max(least_cpu_seconds(lambda: cost(size), tries), 1e-6)
