"""The transforms that floe has, by their Java classes."""

from typing import Final

from floe.config.extensions import Registry
from floe.config.transforms.confluent import registry as confluent
from floe.config.transforms.debezium import registry as debezium
from floe.config.transforms.iceberg import registry as iceberg
from floe.config.transforms.kafka import registry as kafka
from floe.config.transforms.kafka_metadata import KAFKA_METADATA
from floe.config.transforms.options import TransformClass

_TABULAR: Final = "io.tabular.iceberg.connect.transforms."
"""The package of Iceberg's classes before they came to Apache: these names run Apache's."""

_APACHE: Final = "org.apache.iceberg.connect.transforms."
_CLASSES: Final[tuple[TransformClass, ...]] = (
    KAFKA_METADATA,
    *kafka.CLASSES,
    *iceberg.CLASSES,
    *debezium.CLASSES,
    *confluent.CLASSES,
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
