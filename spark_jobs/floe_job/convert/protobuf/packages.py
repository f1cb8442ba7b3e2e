"""The packages that only Protobuf needs."""

from __future__ import annotations

import importlib
import logging
from functools import cache
from types import ModuleType
from typing import Final

from floe_job.exceptions import PackageMissing

log = logging.getLogger(__name__)

REQUIREMENTS: Final = "airflow-provider-floe[protobuf]"


def package(module: str) -> ModuleType:
    """Import a module. Raises PackageMissing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        problem = (
            f"Protobuf records cannot be read here: {error}. Nothing was announced. Install {REQUIREMENTS} where Spark's "
            "workers run"
        )
        raise PackageMissing(problem) from None


@cache
def optional_package(module: str, without: str) -> ModuleType | None:
    """Import a module that floe can do without; if it is not there, say so once. ``without``: what is so without it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        log.warning("%s: %s. Install %s where Spark's workers run", without, error, REQUIREMENTS)
        return None
