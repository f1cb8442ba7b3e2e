"""Which code implements which transform settings."""

from typing import Final

from floe.config.sections.predicates import PredicateSpec
from floe.config.transforms.kafka_metadata import KafkaMetadata
from floe.config.transforms.options import TransformOptions
from floe.config.transforms.python_class import PythonClass
from floe_job.transform.base import Predicate, Reads
from floe_job.transform.confluent.registry import CONFLUENT
from floe_job.transform.debezium.registry import DEBEZIUM
from floe_job.transform.family import Family
from floe_job.transform.iceberg.registry import ICEBERG
from floe_job.transform.kafka.registry import KAFKA
from floe_job.transform.kafka_metadata.columns import MetadataColumns
from floe_job.transform.kafka_metadata.records import MetadataRecords
from floe_job.transform.own.records import PythonRecords
from floe_job.transform.predicates import PREDICATES

FAMILIES: Final[dict[type[TransformOptions], Family]] = {
    KafkaMetadata: Family(MetadataRecords, MetadataColumns),
    PythonClass: Family(PythonRecords, reads=Reads.COLUMNS),
    **KAFKA,
    **CONFLUENT,
    **DEBEZIUM,
    **ICEBERG,
}
"""By the class of the settings. Another transform needs a line here, and one in ``floe.config.transforms.registry``."""


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
