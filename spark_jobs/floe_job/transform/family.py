"""The code of a chain's transforms and conditions, as their settings name it. A module is loaded once a chain needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from floe.config.sections.transforms import PredicateSpec
    from floe.config.transforms.options import TransformEngine, TransformOptions
    from floe_job.transform.base import Predicate, RecordTransform


def engine_of(options: TransformOptions) -> TransformEngine:
    """Return the code for some settings. Raises ValueError where they name none."""
    engine: TransformEngine | None = getattr(type(options), "engine", None)
    if engine is None:
        problem = f"nothing transforms by {type(options).__qualname__}: its class has no `engine`"
        raise ValueError(problem)
    return engine


def transform_of(options: Any) -> RecordTransform:
    """Make a transform of records from its settings. Raises what ``engine_of`` and the code raise."""
    engine = engine_of(options)
    made: Any = engine.records(options)
    if engine.changes == "records":
        found: RecordTransform = made
        return found
    from floe_job.transform.value_change import EachValue

    return EachValue(made, options.side) if engine.changes == "side" else EachValue(made)


def predicate_of(spec: PredicateSpec) -> Predicate:
    """Return the code of a condition."""
    found: Predicate = spec.engine(spec)
    return found
