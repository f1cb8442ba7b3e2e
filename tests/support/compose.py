"""docker-compose.yaml and the files that it is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.support.repository import ROOT

DEPLOY = ROOT / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def settings(path: Path, comment: str = "#") -> dict[str, str]:
    """Read a file of ``name=value`` lines."""
    lines = [line.strip() for line in path.read_text().splitlines()]
    return dict(line.split("=", 1) for line in lines if line and not line.startswith(comment))
