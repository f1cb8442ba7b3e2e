"""The code of a transform of whole records."""

from __future__ import annotations

from typing import Any

from floe_example.steer import Steering
from floe_job.transform.batch import ParsedBatch


class Steer:
    """Drops, refuses, renames or empties the records that say so, and marks the others."""

    def __init__(self, options: Steering) -> None:
        self._mark = options.mark

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Transform a batch; what is refused becomes a dead letter.

        Values that are set here lose their schema; a ``ValueChange`` keeps that of Avro and others.
        """
        batch = batch.filter([_does(value) != "drop" for value in batch.values])
        batch = batch.reject({row: "as asked" for row, value in enumerate(batch.values) if _does(value) == "refuse"})
        topics = [
            value["to"] if _does(value) == "rename" else topic
            for topic, value in zip(batch.read_topics(), batch.values, strict=True)
        ]
        return batch.changed(values=[self.marked(value) for value in batch.values], topics=topics)

    def marked(self, value: Any) -> Any:
        """Return a value with the mark; one that is no object as it is."""
        if not isinstance(value, dict):
            return value
        return None if _does(value) == "empty" else {**value, "mark": self._mark}


def _does(value: Any) -> Any:
    return value.get("do") if isinstance(value, dict) else None
