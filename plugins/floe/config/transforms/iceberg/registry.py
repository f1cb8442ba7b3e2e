"""The sink's own transforms that floe has, beside ``KafkaMetadataTransform``."""

from typing import Final

from floe.config.transforms.iceberg import change_data, copy_value, json_to_map, mongo_change
from floe.config.transforms.options import TransformClass

CLASSES: Final[tuple[TransformClass, ...]] = (
    *change_data.CLASSES,
    copy_value.CLASS,
    json_to_map.CLASS,
    mongo_change.CLASS,
)
