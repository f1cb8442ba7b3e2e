"""Which code implements which transform settings. It is loaded once a connector has such a transform."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from floe_job.transform.confluent.registry import CONFLUENT
from floe_job.transform.debezium.registry import DEBEZIUM
from floe_job.transform.family import Family, code
from floe_job.transform.iceberg.registry import ICEBERG
from floe_job.transform.kafka.registry import KAFKA
from floe_job.transform.reads import Reads

if TYPE_CHECKING:
    from floe.config.sections.transforms import PredicateSpec
    from floe.config.transforms.options import TransformOptions
    from floe_job.transform.base import Predicate

OPTIONS: Final = "floe.config.transforms"
"""Where the classes of settings are."""

FAMILIES: Final[dict[str, Family]] = {
    "kafka_metadata.KafkaMetadata": Family(
        code("kafka_metadata.records", "MetadataRecords"), code("kafka_metadata.columns", "MetadataColumns")
    ),
    "python_class.PythonClass": Family(code("own.records", "PythonRecords"), reads=Reads.COLUMNS),
    **KAFKA,
    **CONFLUENT,
    **DEBEZIUM,
    **ICEBERG,
}
"""By the class of the settings, in ``OPTIONS``. Another transform needs a line here, and one in
``floe.config.transforms.registry``.
"""


def family_of(options: TransformOptions) -> Family:
    """Return the code for some settings. Raises ValueError where there is none."""
    name = name_of(type(options))
    if name not in FAMILIES:
        problem = f"nothing transforms by {name}; known: {', '.join(sorted(FAMILIES))}"
        raise ValueError(problem)
    return FAMILIES[name]


def name_of(options: type[TransformOptions]) -> str:
    """Name a class of settings as ``FAMILIES`` does."""
    return f"{options.__module__}.{options.__qualname__}".removeprefix(f"{OPTIONS}.")


def predicate_of(spec: PredicateSpec) -> Predicate:
    """Return the code of a condition. Raises ValueError where there is none."""
    from floe_job.transform.predicates import PREDICATES

    if spec.type not in PREDICATES:
        problem = f"nothing tests {spec.type!r}"
        raise ValueError(problem)
    return PREDICATES[spec.type](spec)
