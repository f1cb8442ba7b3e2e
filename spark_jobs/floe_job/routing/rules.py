"""Routes: what a task needs to route its records, and where they went."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from floe_job.contract.rejected_record import Rejected
from floe_job.routing.table_names import Unusable
from floe_job.source.record_batch import Records

Places = npt.NDArray[np.intp]
"""Indices of records, in ascending order."""

Destination = tuple[str, ...] | Unusable
"""The tables of a route value, or why it has none."""


@dataclass
class Routed:
    """Records by table. ``filtered``: the number that go to no table, by configuration or because another slice handles them.
    ``malformed``: what cannot be read. ``unroutable``: without a usable route value. ``places``: by table, the indices
    of its records; None for all.
    """

    tables: dict[str, Records] = field(default_factory=dict)
    places: dict[str, Places | None] = field(default_factory=dict)
    filtered: int = 0
    malformed: list[Rejected] = field(default_factory=list)
    unroutable: list[Rejected] = field(default_factory=list)
    reached: int = 0
