"""The code of a condition."""

from __future__ import annotations

from collections.abc import Sequence

from floe.config.sections.transforms import PredicateSpec
from floe_job.transform.batch import ParsedBatch


class HasField:
    """Holds for records with a field."""

    def __init__(self, spec: PredicateSpec) -> None:
        self._name = spec.options["name"]

    def test(self, batch: ParsedBatch) -> Sequence[bool]:
        """Say of each record whether it has it."""
        return [isinstance(value, dict) and self._name in value for value in batch.values]
