"""What records made to be expensive cost, as a multiple of orders, per byte.

20,000 records of 300 bytes, or as many bytes of larger ones, through a task's rounds (``bench.hostile.task_rounds``):
decoding, their new columns, files, dead letters. Orders and hostile records take turns in one process, in CPU time.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

from bench.hostile.formats import formats
from bench.hostile.records import BYTES, HostileShape, pizza, shapes
from bench.hostile.task_rounds import Rounds, TaskRounds
from bench.measurement import Measurement
from bench.size import Size
from stack.progress import step

NAME, SYSTEM = "hostile: ", "floe, a task"
MAX = 10.0
RECORDS_AND_TURNS = ((20_000, 3), (5_000, 3), (200, 1))
ORDERS = HostileShape("orders", pizza)


def measure(folder: Path, size: Size) -> Iterator[Measurement]:
    """Compare each shape with orders."""
    records, turns = size.of(*RECORDS_AND_TURNS)
    rounds = TaskRounds.open(folder / "hostile")
    orders = ORDERS.values(records)
    rounds.run(ORDERS, orders)  # what a process does once
    for shape in (*shapes(), *formats()):
        with step(f"{shape.name}: {records * BYTES / 1e6:g} MB, {turns} times"):
            found = _compared(rounds, shape, orders, records, turns)
        yield found


def _compared(rounds: TaskRounds, shape: HostileShape, orders: list[bytes], records: int, turns: int) -> Measurement:
    values = shape.values(records)
    measure, nbytes = sum(map(len, orders)), sum(map(len, values))
    hostile_ns: list[float] = []
    ours: list[float] = []
    last: Rounds | None = None
    for _ in range(turns):
        ours.append(rounds.run(ORDERS, orders).cpu_seconds / measure * 1e9)
        last = rounds.run(shape, values)
        hostile_ns.append(last.cpu_seconds / nbytes * 1e9)
    ratios = sorted(hostile / order for hostile, order in zip(hostile_ns, ours, strict=True))
    more = {
        "orders_ns_per_byte": statistics.median(ours),
        "ns_per_byte": statistics.median(hostile_ns),
        "ratios": ratios,
        "rows": last.rows if last else 0,
        "dead": last.dead if last else 0,
        "ratio": statistics.median(hostile_ns) / statistics.median(ours),
    }
    seconds = statistics.median(hostile_ns) * nbytes / 1e9
    return Measurement(f"{NAME}{shape.name}", SYSTEM, 0, len(values), seconds, 0.0, more=more)
