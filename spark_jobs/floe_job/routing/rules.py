"""Routes: what a task needs to route its records, and where they went."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from floe.config.sections.routing import Routing
from floe.config.sections.tables import TableSettings
from floe.model.dead_letters import LetterOffsets
from floe_job.contract.rejected import Rejected
from floe_job.routing.table_names import Unusable
from floe_job.source.record_batch import Records

Places = npt.NDArray[np.intp]
"""Indices of records, rising."""

Destination = tuple[str, ...] | Unusable
"""The tables of a route value, or why it has none."""


@dataclass(frozen=True)
class RouteRules:
    """What a task needs to route.

    ``tables``: the connector's, with their conditions; none where records name them. ``only``: the tables of the slice,
    where they are not all: records of others are no business of it. ``judges``: whether records that reach no table
    are the slice's to refuse. ``reserved``: a name that no record may use. ``closed``: the tables that exist or are
    being created are all known; None while the task is to find out, else why another one is none. ``redriven``: the
    letters that a re-drive reads; other records are no business of it.
    """

    routing: Routing
    tables: tuple[tuple[str, TableSettings], ...] = ()
    only: frozenset[str] | None = None
    judges: bool = True
    reserved: str | None = None
    closed: str | None = None
    redriven: LetterOffsets | None = None


@dataclass
class Routed:
    """Records by table. ``filtered``: those that go to none, as configured or as they are another slice's business.
    ``malformed``: no JSON objects; ``unroutable``: without a usable route value. ``places``: by table, which records
    these are, by index; None for all.
    """

    tables: dict[str, Records] = field(default_factory=dict)
    places: dict[str, Places | None] = field(default_factory=dict)
    filtered: int = 0
    malformed: list[Rejected] = field(default_factory=list)
    unroutable: list[Rejected] = field(default_factory=list)
    reached: int = 0
