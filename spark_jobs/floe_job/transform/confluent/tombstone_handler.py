"""Confluent's TombstoneHandler: tombstones are left out, or refused."""

from __future__ import annotations

import logging

import numpy as np

from floe.config.transforms.confluent.tombstone_handler import TombstoneHandler
from floe_job.transform.batch import ParsedBatch

_log = logging.getLogger(__name__)


class Tombstones:
    """Leaves tombstones out, or refuses them: a ``RecordTransform``."""

    def __init__(self, options: TombstoneHandler) -> None:
        self._behavior = options.behavior

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Handle the tombstones; other records stay as they are."""
        is_tombstone = batch.is_tombstone
        if not is_tombstone.any():
            return batch
        rows = np.flatnonzero(is_tombstone).tolist()
        if self._behavior == "fail":
            return batch.reject(dict.fromkeys(rows, "the record is a tombstone, and behavior is fail"))
        if self._behavior == "warn":
            _log.warning(
                "%d tombstones of partition %d of topic %s are left out, the first at offset %d",
                *(len(rows), batch.partition, batch.source.part.range.topic, batch.offsets[rows[0]]),
            )
        return batch.filter((~is_tombstone).tolist())
