"""What transforms may cost, and whether the measurements keep to it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bench.measurement import Measurement
from bench.transforms.scenario import (
    FILTERED,
    FLAT,
    MARKED,
    OF_EPOCH,
    OF_TEXT,
    WITH_SCHEMAS,
    of_changes,
    of_rows,
    of_unwrapped,
)

SINK, WARM = "Kafka Connect sink", "floe warm"
Figure = Callable[[Measurement], float]


def _seconds(one: Measurement) -> float:
    return one.seconds / one.records


def _cpu_per_byte(one: Measurement) -> float:
    return one.cpu_seconds / float(one.more["bytes"])


@dataclass(frozen=True)
class Limit:
    """``scenario``: a figure of it by floe warm, at most ``most`` times that of ``base``, also by floe warm."""

    what: str
    scenario: str
    base: str
    most: float
    figure: Figure = _seconds


LIMITS: Final = (
    Limit("three transforms of flat JSON vs none", OF_TEXT, FLAT, 1.25),
    Limit("three transforms of flat JSON, epoch ms, vs none", OF_EPOCH, FLAT, 1.25),
    *(
        Limit(f"{of_unwrapped(name)} vs as they are", of_unwrapped(name), of_changes(name), 1.10)
        for name in WITH_SCHEMAS
    ),
    *(
        Limit(f"{of_unwrapped(name)}, vs rows: CPU per byte", of_unwrapped(name), of_rows(name), 1.35, _cpu_per_byte)
        for name in WITH_SCHEMAS
    ),
    Limit("Filter of half of the records vs none", FILTERED, MARKED, 0.90),
)
LEAST_VS_SINK: Final = 5.0


@dataclass(frozen=True)
class TransformCheck:
    """A ratio of medians, with the least and the most of the rounds, and what is asked of it."""

    what: str
    wanted: str
    text: str
    holds: bool


def checks(found: Sequence[Measurement]) -> Iterator[TransformCheck]:
    """Compare what was measured with the limits; what was not measured is left out."""

    def figures(scenario: str, system: str, figure: Figure) -> list[float]:
        return [figure(m) for m in found if (m.scenario, m.system) == (scenario, system)]

    for one in LIMITS:
        ours, base = (figures(scenario, WARM, one.figure) for scenario in (one.scenario, one.base))
        if ours and base:
            value, text = _ratio(ours, base)
            yield TransformCheck(one.what, f"≤ {one.most:g} ×", text, value <= one.most)
    sink, ours = (figures(OF_TEXT, system, _seconds) for system in (SINK, WARM))
    if sink and ours:
        value, text = _ratio(sink, ours)
        yield TransformCheck(f"{OF_TEXT}: floe warm vs sink", f"{LEAST_VS_SINK:g} ×", text, value >= LEAST_VS_SINK)


def _ratio(above: Sequence[float], below: Sequence[float]) -> tuple[float, str]:
    ratio = statistics.median(above) / statistics.median(below)
    rounds = sorted(a / b for a, b in zip(above, below, strict=False))
    return ratio, f"{ratio:.2f} × ({rounds[0]:.2f}–{rounds[-1]:.2f})"
