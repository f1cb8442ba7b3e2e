"""JSON as hand-written producers send it, beside the sink and its floor.

Keys in three orders, a third of the optional fields missing, escapes, text that is not ASCII, 300 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.measurement import Measurement
from bench.records import UNTIDY
from bench.scenario import Scenario
from bench.site import Site
from bench.size import Size
from bench.suites.side_by_side import compare
from bench.systems.floe import Floe
from bench.systems.floor import Floor
from bench.systems.sink import Sink

NAME = "untidy"
RECORDS = (2_000_000, 100_000, 2_000)


def measure(site: Site, rounds: int, size: Size) -> Iterator[Measurement]:
    """Measure the sink, floe warm and the floor, in turns."""
    floe = Floe(site, is_warm=True)
    with floe.warm():
        scenario = Scenario(NAME, UNTIDY, NAME, size.of(*RECORDS))
        yield from compare(site, [Sink(site), floe, Floor(site)], scenario, rounds)
