"""Airflow's variables, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import airflow.sdk
import pytest


class Variables:
    """Stands in for the SDK's ``Variable``; ``broken`` is raised by every call."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.broken: Exception | None = None

    def get(self, key: str, default: Any = None) -> Any:
        self._check()
        return self.values.get(key, default)

    def set(self, key: str, value: str, description: str) -> None:
        self._check()
        assert description
        self.values[key] = value

    def keys(self, prefix: str) -> Sequence[str]:
        self._check()
        return [key for key in self.values if key.lower().startswith(prefix.lower())]

    def delete(self, key: str) -> None:
        self._check()
        del self.values[key]

    def _check(self) -> None:
        if self.broken is not None:
            raise self.broken


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> Variables:
    """The variables of a deployment; none at first."""
    one = Variables()
    monkeypatch.setattr(airflow.sdk, "Variable", one)
    return one
