"""The transforms that floe has, by their Java classes."""

from __future__ import annotations

from typing import Final

from floe.config.extensions import Registry
from floe.config.transforms import confluent, debezium, iceberg, kafka_fields, kafka_records, timestamp_converter
from floe.config.transforms.iceberg import KAFKA_METADATA
from floe.config.transforms.options import TransformClass

# Kafka's own transforms, by their Java classes.


KAFKA: Final[tuple[TransformClass, ...]] = (
    *kafka_fields.REPLACE_FIELD,
    *kafka_fields.INSERT_FIELD,
    *kafka_fields.CAST,
    *timestamp_converter.TIMESTAMP_CONVERTER,
    *kafka_fields.MASK_FIELD,
    *kafka_fields.EXTRACT_FIELD,
    *kafka_fields.FLATTEN,
    *kafka_fields.HOIST_FIELD,
    *kafka_records.ROUTERS,
    *kafka_records.HEADERS,
    *kafka_fields.VALUE_TO_KEY,
    *kafka_fields.SET_SCHEMA_METADATA,
)


# The sink's own transforms that floe has, beside ``KafkaMetadataTransform``.


ICEBERG: Final[tuple[TransformClass, ...]] = (
    *iceberg.CHANGE_DATA,
    iceberg.COPY_VALUE,
    iceberg.JSON_TO_MAP,
    iceberg.MONGO_CHANGE,
)


# Debezium's transforms that floe has.


DEBEZIUM: Final[tuple[TransformClass, ...]] = (debezium.NEW_RECORD_STATE, debezium.NEW_DOCUMENT_STATE)


# Confluent's transforms that floe has.


CONFLUENT: Final[tuple[TransformClass, ...]] = (*confluent.EXTRACT_TOPIC, confluent.TOMBSTONE_HANDLER)


_TABULAR: Final = "io.tabular.iceberg.connect.transforms."
"""The package of Iceberg's classes before they came to Apache: these names run Apache's."""

_APACHE: Final = "org.apache.iceberg.connect.transforms."
_CLASSES: Final[tuple[TransformClass, ...]] = (
    KAFKA_METADATA,
    *KAFKA,
    *ICEBERG,
    *DEBEZIUM,
    *CONFLUENT,
)

TRANSFORMS: Final = Registry(
    "floe.transforms",
    TransformClass,
    {
        **{one.name: one for one in _CLASSES},
        **{one.name.replace(_APACHE, _TABULAR): one for one in _CLASSES if one.name.startswith(_APACHE)},
    },
)
"""By the Java class: what reads its settings, which name its code. Another transform of floe's needs a line here."""
