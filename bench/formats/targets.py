"""The figures that floe has to reach with values that have schemas, and with JSON that is not uniform."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bench.measurement import Measurement

SINK, WARM, FLOOR = "Kafka Connect sink", "floe warm", "floor"


@dataclass(frozen=True)
class Wanted:
    """Of a scenario: how many times faster than the sink, by wall clock and by CPU, and how much of the floor's speed.

    ``sink``: the scenario in which the sink is measured, if it cannot read this one's records.
    """

    scenario: str
    wall: float | None = None
    cpu: float | None = None
    floor: float | None = None
    sink: str = ""


WANTED = (
    Wanted("avro", wall=6, cpu=5, floor=0.8),
    Wanted("protobuf", wall=6, cpu=5, sink="avro"),
    Wanted("envelope", wall=8),
    Wanted("untidy", wall=6, floor=0.8),
    Wanted("typed", wall=6),
    Wanted("partitioned", wall=6),
    Wanted("hundred tables", wall=6),
    Wanted("nested", wall=6),
    Wanted("wide", wall=4.2),
)


@dataclass(frozen=True)
class Ratio:
    """A figure of floe warm as a multiple of another system's, the more the better."""

    what: str
    wanted: float
    value: float
    is_share: bool = False

    @property
    def texts(self) -> tuple[str, str]:
        """The target and the figure."""
        if self.is_share:
            return f"{self.wanted:.0%}", f"{self.value:.0%}"
        return f"{self.wanted:g} ×", f"{self.value:.1f} ×"


def ratios(found: Sequence[Measurement]) -> Iterator[Ratio]:
    """Return what was measured of what is wanted."""

    def median(scenario: str, system: str, figure: Callable[[Measurement], float]) -> float | None:
        figures = [figure(m) for m in found if (m.scenario, m.system) == (scenario, system)]
        return statistics.median(figures) if figures else None

    for one in WANTED:
        with_what = f" with {one.sink}" if one.sink else ""
        for scenario, other, figure, wanted, what in (
            (one.sink or one.scenario, SINK, _seconds, one.wall, f"floe warm vs sink{with_what}"),
            (
                one.sink or one.scenario,
                SINK,
                _cpu_seconds,
                one.cpu,
                f"CPU seconds per row, sink{with_what} / floe warm",
            ),
            (one.scenario, FLOOR, _seconds, one.floor, "floe warm vs the floor"),
        ):
            theirs, ours = median(scenario, other, figure), median(one.scenario, WARM, figure)
            if wanted and theirs and ours:
                yield Ratio(f"{one.scenario}: {what}", wanted, theirs / ours, is_share=other == FLOOR)
    plain, schema = (median(name, WARM, _seconds) for name in ("json", "json-schema"))
    if plain and schema:
        yield Ratio("json-schema: floe warm vs its own JSON without schemas", 0.9, plain / schema, is_share=True)


def _seconds(one: Measurement) -> float:
    return one.seconds / one.records


def _cpu_seconds(one: Measurement) -> float:
    return one.cpu_seconds / one.records
