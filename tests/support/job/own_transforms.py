"""The transforms of the example extension, as connectors have them."""

from __future__ import annotations

from typing import Any

from floe_example.has_field import HAS_FIELD
from floe_example.label import LABEL, Label
from floe_example.steer import STEER, Steering
from floe_example.steer_code import Steer

from floe.config.properties import Properties
from floe.config.sections.transforms import PredicateSpec, TransformSpec
from floe_job.transform.batch import ParsedBatch


class Forgive(Steer):
    """The same, corrected: it refuses nothing, and drops nothing."""

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        return batch.changed(values=[self.marked(value) for value in batch.values])


def steer(alias: str = "steer", mark: str = "seen", **more: Any) -> TransformSpec:
    return TransformSpec(alias, STEER.name, Steering(mark), **more)


def label(column: str = "label", **options: Any) -> TransformSpec:
    return TransformSpec("label", LABEL.name, Label(column, **options))


def has_field(name: str) -> PredicateSpec:
    return PredicateSpec("p", HAS_FIELD.name, HAS_FIELD.engine, Properties({"name": name}))
