"""What makes transforms of one kind from their settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from floe_job.transform.base import ColumnTransform, Reads, RecordTransform


@dataclass(frozen=True)
class Family:
    """A kind of transform. ``records``: makes a transform from its settings, which sees of values what ``reads`` says.

    ``columns``: for columnar settings, makes one transform from all of them in a chain, as ``MetadataColumns`` is made.
    """

    records: Callable[[Any], RecordTransform]
    columns: Callable[..., ColumnTransform] | None = None
    reads: Reads = Reads.OBJECTS
