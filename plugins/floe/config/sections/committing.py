"""When a connector commits, how long it tries, and how many tables at once: ``iceberg.control.commit.*``."""

from dataclasses import dataclass

from floe.config.keys.reader import Settings
from floe.config.sections.connections import read_plain


@dataclass(frozen=True)
class CommitRules:
    """Times in milliseconds. ``transactional_prefix``: of the ids of its producers."""

    interval_ms: int
    timeout_ms: int
    threads: int
    transactional_prefix: str


def read_committing(settings: Settings) -> CommitRules:
    """Read the rules; problems are noted."""
    interval = settings.integer("iceberg.control.commit.interval-ms")
    if interval < 1000:
        settings.warnings.append(f"iceberg.control.commit.interval-ms is {interval}: Airflow schedules by the second")
    return CommitRules(
        interval_ms=interval,
        timeout_ms=settings.integer("iceberg.control.commit.timeout-ms"),
        threads=settings.integer("iceberg.control.commit.threads"),
        transactional_prefix=read_plain(settings, "iceberg.coordinator.transactional.prefix", ""),
    )
