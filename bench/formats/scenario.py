"""The input of a system whose records have schemas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench.formats.base import Registry
from bench.formats.registry import FORMATS
from bench.scenario import Scenario


@dataclass(frozen=True)
class FormatScenario(Scenario):
    """``format``: of the values; ``registry``: where their schemas are."""

    format: str = ""
    registry: Registry = ""

    def keys(self, namespace: str) -> dict[str, Any]:
        """Return a connector's keys, with the converter of the format."""
        kept = {key: value for key, value in super().keys(namespace).items() if not key.startswith("value.converter")}
        return {**kept, **FORMATS[self.format].converter(self.registry)}
