"""A transform as a user writes it: it does what the field ``do`` says."""

from collections.abc import Mapping
from typing import Any

from floe_job.transform.own import Batch


class Steered:
    """Leaves out, refuses or marks records."""

    version = 1

    def __init__(self, options: Mapping[str, str]) -> None:
        self._mark = options.get("mark", "seen")

    def apply(self, batch: Batch) -> Batch:
        values = batch.objects()
        refused = {row: "as asked" for row, value in enumerate(values) if _does(value) == "refuse"}
        marked = [{**value, "mark": self._mark} if isinstance(value, dict) else value for value in values]
        return batch.with_objects(marked).filter([_does(value) != "drop" for value in values]).refuse(refused)


def _does(value: Any) -> Any:
    return value.get("do") if isinstance(value, dict) else None
