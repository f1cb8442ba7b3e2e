"""Confluent's transforms that floe has."""

from typing import Final

from floe.config.transforms.confluent import extract_topic, tombstone_handler
from floe.config.transforms.options import TransformClass

CLASSES: Final[tuple[TransformClass, ...]] = (*extract_topic.CLASSES, tombstone_handler.CLASS)
