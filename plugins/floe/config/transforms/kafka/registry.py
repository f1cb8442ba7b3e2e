"""Kafka's own transforms, by their Java classes."""

from typing import Final

from floe.config.transforms.kafka import (
    cast,
    extract_field,
    flatten,
    headers,
    hoist_field,
    insert_field,
    mask_field,
    replace_field,
    routers,
    schema_metadata,
    timestamp_converter,
    value_to_key,
)
from floe.config.transforms.options import TransformClass

CLASSES: Final[tuple[TransformClass, ...]] = (
    *replace_field.CLASSES,
    *insert_field.CLASSES,
    *cast.CLASSES,
    *timestamp_converter.CLASSES,
    *mask_field.CLASSES,
    *extract_field.CLASSES,
    *flatten.CLASSES,
    *hoist_field.CLASSES,
    *routers.CLASSES,
    *headers.CLASSES,
    *value_to_key.CLASSES,
    *schema_metadata.CLASSES,
)
