"""Stages: the steps that refuse records, by the names that dead letters give them.

Those that Kafka Connect has too are called as it calls them. Dead letters that older versions wrote say ``decode`` for
``value_converter`` and ``convert`` for ``coerce``; nothing of floe reads the stage of a stored dead letter.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

KEY_CONVERTER: Final = "key_converter"
VALUE_CONVERTER: Final = "value_converter"
HEADER_CONVERTER: Final = "header_converter"
TRANSFORM: Final = "transform"
ROUTE: Final = "route"
TABLE: Final = "table"
"""The table refuses: no file can be written for it."""

COERCE: Final = "coerce"
"""A value does not fit its column."""

SCHEMA: Final = "schema"
"""A column may not be added."""

STAGES: Final = frozenset({KEY_CONVERTER, VALUE_CONVERTER, HEADER_CONVERTER, TRANSFORM, ROUTE, TABLE, COERCE, SCHEMA})

_CONNECT: Final[Mapping[str, str]] = MappingProxyType(
    {
        KEY_CONVERTER: "KEY_CONVERTER",
        VALUE_CONVERTER: "VALUE_CONVERTER",
        HEADER_CONVERTER: "HEADER_CONVERTER",
        TRANSFORM: "TRANSFORMATION",
    }
)


def connect_stage(stage: str) -> str:
    """Return Connect's word, of ``org.apache.kafka.connect.runtime.errors.Stage``: what a sink's task does is TASK_PUT."""
    return _CONNECT.get(stage, "TASK_PUT")
