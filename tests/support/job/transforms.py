"""Transforms as a connector has them."""

from __future__ import annotations

from typing import Any

from floe.config.sections.transforms import TransformSpec
from floe.config.transforms.kafka_metadata import KAFKA_METADATA, KafkaMetadata


def metadata(field_name: str = "m", alias: str = "meta", **options: Any) -> TransformSpec:
    """Return a KafkaMetadataTransform."""
    return TransformSpec(alias, KAFKA_METADATA.name, KafkaMetadata(field_name, **options))
