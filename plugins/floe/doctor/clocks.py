"""A check of clocks: this machine's against those of the brokers and of the schema registry."""

from __future__ import annotations

from collections.abc import Iterator

from floe.doctor.case import Case
from floe.doctor.finding import About, Finding

MAX_SECONDS = 30
REMEDY = "synchronize the clocks (NTP) of this machine and of the servers: commit times and time windows come from them"


def find_clocks(case: Case, about: About) -> Iterator[Finding]:
    """Compare this machine's time with what servers gave when they were asked.

    Brokers say their time by the marker that ended the transaction of this diagnosis. Another writer's record may be newer,
    so a broker that is behind is found, and one that is ahead is either it or that writer.
    """
    for clock in {one.where: one for one in case.clocks}.values():
        behind = (clock.here - clock.there).total_seconds()
        if abs(behind) > MAX_SECONDS:
            how = f"{abs(behind):,.0f} s {'behind' if behind > 0 else 'ahead of'}"
            yield about.warning(f"the clock of {clock.where} is {how} this machine's", REMEDY)
        else:
            yield about.ok(f"the clock of {clock.where} agrees with this machine's within {MAX_SECONDS} s")
    if not case.clocks:
        yield about.not_checked("no server gave its time")
