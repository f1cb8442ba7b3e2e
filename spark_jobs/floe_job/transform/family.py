"""What makes transforms of one kind from their settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from floe_job.transform.reads import Reads

if TYPE_CHECKING:
    from floe_job.transform.base import ColumnTransform, RecordTransform


@dataclass(frozen=True)
class Family:
    """A kind of transform. ``records``: makes a transform from its settings, which sees of values what ``reads`` says.

    ``columns``: for columnar settings, makes one transform from all of them in a chain, as ``MetadataColumns`` is made.
    """

    records: Callable[[Any], RecordTransform]
    columns: Callable[..., ColumnTransform] | None = None
    reads: Reads = Reads.OBJECTS


def code(module: str, name: str) -> Callable[..., Any]:
    """Return what calls a class of ``floe_job.transform``; its module is loaded by the first call: a worker needs few."""

    def make(*arguments: Any, **more: Any) -> Any:
        return getattr(import_module(f"floe_job.transform.{module}"), name)(*arguments, **more)

    return make


def each(module: str, name: str, *, is_sided: bool = True) -> Family:
    """Return the family of a transform that changes each value by itself, or each key where its settings say so."""
    change = code(module, name)

    def make(options: Any) -> RecordTransform:
        from floe_job.transform.value_change import EachValue

        return EachValue(change(options), options.side) if is_sided else EachValue(change(options))

    return Family(make, reads=Reads.COLUMNS)
