"""``write.distribution-mode``: whether a table's rows are brought together by partition before files are written."""

import logging
from collections.abc import Collection

from pyiceberg.transforms import VoidTransform

from floe_job.contract.target import TableTarget

log = logging.getLogger(__name__)

MODE = "write.distribution-mode"
"""The table property (Iceberg: ``TableProperties.WRITE_DISTRIBUTION_MODE``)."""


def is_spread(target: TableTarget) -> bool:
    """Return whether rows go to the task that writes their partition.

    Rows of a table without partitions stay where they are read: one task for all of them would be a bottleneck.
    Iceberg's Spark writer does the same.
    """
    if target.metadata is None or _mode(target) not in ("hash", "range"):
        return False
    return any(not isinstance(field.transform, VoidTransform) for field in target.metadata.spec().fields)


def writing_tasks(targets: Collection[TableTarget], reading: int, most: int) -> int:
    """Return how many tasks write what ``reading`` tasks read; 0 where each writes its own rows.

    A task that reads alone already has all rows of a partition.
    """
    for target in targets:
        if _mode(target) not in ("none", "hash"):
            meaning = "hash" if _mode(target) == "range" else "none"
            log.warning(
                "table %s: %s=%r is taken as %s; set it to none or hash", target.name, MODE, _mode(target), meaning
            )
    return most if reading > 1 and any(is_spread(target) for target in targets) else 0


def _mode(target: TableTarget) -> str:
    return target.properties.get(MODE, "none").strip().lower()
