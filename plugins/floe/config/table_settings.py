"""What a connector says of one of its tables."""

from dataclasses import dataclass

from floe.config.partition import PartitionTerm
from floe.config.sorting import SortTerm


@dataclass(frozen=True)
class TableSettings:
    """The keys ``iceberg.table.<table>.*`` and ``floe.table.<table>.*``, with the defaults for all tables under them.

    ``branch`` is None for main. ``topics`` is None where the table takes every topic.
    """

    branch: str | None = None
    partition_by: tuple[PartitionTerm, ...] = ()
    id_columns: tuple[str, ...] = ()
    sort_by: tuple[SortTerm, ...] = ()
    route_regex: str | None = None
    topics: frozenset[str] | None = None
