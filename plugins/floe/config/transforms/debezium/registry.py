"""Debezium's transforms that floe has."""

from typing import Final

from floe.config.transforms.debezium import new_document_state, new_record_state
from floe.config.transforms.options import TransformClass

CLASSES: Final[tuple[TransformClass, ...]] = (new_record_state.CLASS, new_document_state.CLASS)
