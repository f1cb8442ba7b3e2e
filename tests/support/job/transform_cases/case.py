"""A transform, and what it does with which values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from floe.config.sections.transforms import TransformSpec


@dataclass(frozen=True)
class Case:
    """One kind of transform. ``bad``: values that it refuses; ``dropped``: values that it leaves out.

    ``plain``: values that it takes, without schemas; None for any object. ``keeps_tombstones``: it leaves none out.
    ``fills_tombstones``: it makes values of them.
    """

    spec: TransformSpec
    bad: tuple[Any, ...] = ()
    dropped: tuple[Any, ...] = ()
    plain: tuple[Any, ...] | None = None
    keeps_tombstones: bool = True
    fills_tombstones: bool = False
