"""Transforms as a connector has them."""

from __future__ import annotations

from typing import Any

from floe.config.properties import Properties
from floe.config.sections.transforms import PredicateSpec, TransformSpec
from floe.config.transforms.iceberg import KAFKA_METADATA, KafkaMetadata
from floe.config.transforms.transform_classes import TRANSFORMS


def metadata(field_name: str = "m", alias: str = "meta", **options: Any) -> TransformSpec:
    """Return a KafkaMetadataTransform."""
    return TransformSpec(alias, KAFKA_METADATA.name, KafkaMetadata(field_name, **options))


def transform(kind: str, predicate: PredicateSpec | None = None, negate: bool = False, **keys: str) -> TransformSpec:
    """Return a transform by its class, with ``_`` in keys for a dot."""
    found = next(one for one in TRANSFORMS.values() if kind in (one.name, one.simple_name))
    problems: list[str] = []
    options = found.read(problems, "transforms.x.", Properties({key.replace("_", "."): of for key, of in keys.items()}))
    assert options is not None, problems
    return TransformSpec("x", found.name, options, predicate, negate)
