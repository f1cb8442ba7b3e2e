"""What the log of a run says besides the steps themselves: the lag, dead letters by reason, and sums."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from floe.config import Connector
from floe.config.secrets.mask import clip

if TYPE_CHECKING:
    from floe.commit.run_commit import CommitReport
    from floe.kafka.settings import KafkaSettings
    from floe.model.plan import Plan
    from floe.status.model import ConnectorStatus
    from floe.status.summary import Line

log = logging.getLogger(__name__)

T = TypeVar("T")


def say(lines: Iterable[Line]) -> None:
    """Log lines, each at its level."""
    for line in lines:
        log.log(line.level, "%s", line.text)


def look_up(connector: Connector, settings: KafkaSettings) -> ConnectorStatus | None:
    """Return the lag and the backlog of a connector now; None, with a warning, where that cannot be had."""
    from floe.status.kafka_state import KafkaState

    return tried("The lag", lambda: KafkaState.of(connector, settings).status(connector))


def reasons_of(connector: Connector, plan: Plan, report: CommitReport) -> Mapping[str, int]:
    """Count a run's dead letters by reason; none, with a warning, where they cannot be read."""
    from floe.catalogs.client import Tables
    from floe.status.dead_letters import reasons_of as found

    is_needed = any(one.reasons for one in report.announcements) or any(
        committed.table_files.table == plan.dead_letters for committed in report.committed
    )
    if not is_needed:
        return {}
    return tried("The reasons of dead letters", lambda: found(Tables.of(connector), plan, report.announcements)) or {}


def tried(what: str, look: Callable[[], T], how: str = "looked up") -> T | None:
    """Return what a look-up finds. What it is for has happened already: no error of it may fail the task."""
    try:
        return look()
    except Exception as error:  # noqa: BLE001 - whatever it is
        why = clip(" ".join(f"{type(error).__name__}: {error}".split()), 500)
        log.warning("%s could not be %s, which changes nothing else: %s", what, how, why)
        return None
