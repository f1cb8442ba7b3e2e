"""Which code implements which transform settings."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from floe.config.sections.transforms import PredicateSpec
from floe.config.transforms.kafka_metadata import KafkaMetadata
from floe.config.transforms.options import TransformOptions
from floe_job.transform.base import ColumnTransform, Predicate, RecordTransform
from floe_job.transform.kafka_metadata.columns import MetadataColumns
from floe_job.transform.kafka_metadata.records import MetadataRecords


@dataclass(frozen=True)
class Family:
    """A kind of transform. ``records``: makes a transform from its settings.

    ``columns``: for columnar settings, makes one transform from all of them in a chain, as ``MetadataColumns`` is made.
    """

    records: Callable[[Any], RecordTransform]
    columns: Callable[..., ColumnTransform] | None = None


FAMILIES: Final[dict[type[TransformOptions], Family]] = {
    KafkaMetadata: Family(MetadataRecords, MetadataColumns),
}
"""By the class of the settings. Another transform needs a line here, and one in ``floe.config.sections.transforms``."""

PREDICATES: Final[dict[str, Callable[[PredicateSpec], Predicate]]] = {}
"""By the Java class."""


def family_of(options: TransformOptions) -> Family:
    """Return the code for some settings. Raises ValueError where there is none."""
    if type(options) not in FAMILIES:
        problem = (
            f"nothing transforms by {type(options).__name__}; known: {', '.join(sorted(c.__name__ for c in FAMILIES))}"
        )
        raise ValueError(problem)
    return FAMILIES[type(options)]


def predicate_of(spec: PredicateSpec) -> Predicate:
    """Return the code of a condition. Raises ValueError where there is none."""
    if spec.type not in PREDICATES:
        problem = f"nothing tests {spec.type!r}"
        raise ValueError(problem)
    return PREDICATES[spec.type](spec)
