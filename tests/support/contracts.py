"""What contract suites need to know of an implementation, and the cases that other distributions bring.

A distribution of others is tested by a file such as ``docs/examples/extension/contract_cases.py``, with any of
``CONVERTERS``, ``TRANSFORMS``, ``CATALOGS`` and ``JOBS``: cases by name. ``make contracts EXTENSIONS=… CASES=…`` reads it.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from floe.config.converters.base import ConverterClass, ConverterSpec
from floe.config.keys.reader import OptionReader
from floe.config.properties import Properties
from floe.config.sections.transforms import PredicateSpec, TransformSpec
from floe.config.transforms.options import PredicateClass, TransformClass
from floe_job.convert.context import ConverterContext
from tests.support.job.converters import NO_REGISTRY
from tests.support.job.transform_cases.case import Case as TransformCase

if TYPE_CHECKING:
    from tests.support.catalogs import CatalogLake
    from tests.support.tables.old_snapshots import AgingLake

__all__ = [
    "CatalogCase",
    "ConverterCase",
    "JobCase",
    "TransformCase",
    "added_cases",
    "read_condition",
    "read_converter",
    "read_transform",
]

VARIABLE = "FLOE_CONTRACT_CASES"
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "extension" / "contract_cases.py"


@dataclass(frozen=True)
class ConverterCase:
    """A converter. ``encode``: the bytes of a record of texts as producers write it; ``bad``: what cannot be read.

    ``stages``: of what cannot be read, and of a value that its column does not take.
    """

    spec: ConverterSpec
    encode: Callable[[dict[str, str]], bytes]
    bad: tuple[bytes, ...]
    stages: tuple[str, str] = ("value_converter", "coerce")
    context: ConverterContext = NO_REGISTRY


@dataclass(frozen=True)
class CatalogCase:
    """A type of catalog. ``make``: makes a lake in an empty folder, with what the catalog needs; the suite closes it."""

    make: Callable[[Path], CatalogLake]


@dataclass(frozen=True)
class JobCase:
    """A maintenance job; a second case of one has a comma behind its name, and more.

    ``properties``: of a table that asks for it. ``prepare``: makes something due on such a table. ``drops``: branches and
    tags that ``prepare`` makes and that the job may drop.
    """

    properties: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[AgingLake], object] = lambda _: None
    drops: tuple[str, ...] = ()


def read_converter(converter: ConverterClass, **options: str) -> ConverterSpec:
    """Read the options of a converter of values."""
    reader = OptionReader(options)
    spec = converter.read(reader, "value")
    assert reader.problems == []
    return spec


def read_transform(transform: TransformClass, predicate: PredicateSpec | None = None, **keys: str) -> TransformSpec:
    """Read the settings of a transform, with its condition."""
    problems: list[str] = []
    options = transform.read(problems, "transforms.x.", Properties(keys))
    assert options is not None and problems == []
    return TransformSpec("x", transform.name, options, predicate)


def read_condition(condition: PredicateClass, **keys: str) -> PredicateSpec:
    """Read the settings of a condition."""
    problems: list[str] = []
    condition.check(problems, "predicates.p.", Properties(keys))
    assert problems == []
    return PredicateSpec("p", condition.name, condition.engine, Properties(keys))


def added_cases(kind: str) -> dict[str, Any]:
    """Return the cases of one kind that the example, and the file in the environment, bring."""
    given = os.environ.get(VARIABLE)
    files = (EXAMPLE, *([Path(given)] if given else []))
    return {name: case for file in files for name, case in getattr(_loaded(file), kind, {}).items()}


def _loaded(file: Path) -> object:
    spec = importlib.util.spec_from_file_location(f"contract_cases_{abs(hash(file.resolve()))}", file)
    assert spec is not None and spec.loader is not None, file
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
