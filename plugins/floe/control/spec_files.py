"""Data files as they are announced, and as Spark's tasks report them."""

from dataclasses import dataclass

from floe.control.wire.events import DataFile, PartitionType


@dataclass(frozen=True)
class SpecFiles:
    """Data files of one partition spec."""

    spec_id: int
    partition_type: PartitionType
    files: tuple[DataFile, ...]
