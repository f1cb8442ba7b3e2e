"""How much a run reads, by how many tasks, and in what time."""

from dataclasses import dataclass
from typing import Final, Literal

from floe.config.keys.reader import Settings

MIN_WRITE_TIMEOUT: Final = 1000
"""Milliseconds. No slice is written in less. A smaller number was most likely meant in seconds."""


@dataclass(frozen=True)
class ReadRules:
    """``tasks``: of Spark at most. ``max_records``: offsets of a slice at most. Sizes are in bytes; None is no limit.

    ``is_portable``: by confluent-kafka's own consumer. ``on_data_loss``: of records that Kafka removed before they were read.
    """

    tasks: int
    max_records: int | None
    worker_memory: int
    batch_bytes: int
    is_portable: bool
    write_timeout_ms: int | None
    on_data_loss: Literal["fail", "accept"]


def read_reading(settings: Settings) -> ReadRules:
    """Read the rules; problems are noted."""
    return ReadRules(
        tasks=settings.integer("tasks.max"),
        max_records=read_limit(settings, "floe.max-records-per-run"),
        worker_memory=settings.integer("floe.worker.memory"),
        batch_bytes=settings.integer("floe.batch.max-bytes"),
        is_portable=settings.text("floe.consumer") == "portable",
        write_timeout_ms=read_limit(settings, "floe.write.timeout", MIN_WRITE_TIMEOUT),
        on_data_loss="accept" if settings.text("floe.on-data-loss") == "accept" else "fail",
    )


def read_limit(settings: Settings, key: str, least: int = 1) -> int | None:
    """Read a number of which -1 is no limit; one below ``least`` is a problem."""
    limit = settings.integer(key)
    if 0 <= limit < least:
        settings.problems.append(
            f"Invalid value {limit} for configuration {key}: Value must be at least {least}, or -1 for no limit"
        )
    return None if limit < 0 else limit
