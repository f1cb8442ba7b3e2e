"""The code of other distributions that a connector uses: what of it goes to Spark's workers, and which it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from floe.config.exceptions import ExtensionUnusable
from floe.config.transforms.allowed_modules import OWN_PACKAGES
from floe.config.transforms.python_source import PythonSource, SourceProblem, source_of

if TYPE_CHECKING:
    from floe.config.converters.base import ConverterSpec
    from floe.config.engine import Engine
    from floe.config.sections.transforms import TransformSpec

VERSION: Final = 1
"""In the place of a version that the author counts: any other code is another one."""


def extension_sources(
    transforms: Iterable[TransformSpec], converters: Iterable[ConverterSpec | None]
) -> dict[str, PythonSource]:
    """Return the sources of the packages in which transforms and converters are, by package, as they are now.

    Raises ExtensionUnusable for a package that is not of Python's sources.
    """
    modules = (*_of_transforms(transforms), *_of_converters(converters))
    packages = sorted({module.partition(".")[0] for module in modules} - OWN_PACKAGES)
    return {package: _source(package) for package in packages}


def _of_transforms(transforms: Iterable[TransformSpec]) -> Iterator[str]:
    for spec in transforms:
        options = type(spec.options)
        yield options.__module__
        if (code := getattr(options, "engine", None)) is not None:
            yield from _modules((code.records, code.columns))
        if spec.predicate is not None:
            yield spec.predicate.engine.module


def _of_converters(converters: Iterable[ConverterSpec | None]) -> Iterator[str]:
    return _modules(spec.engine for spec in converters if spec is not None)


def _modules(engines: Iterable[Engine | None]) -> Iterator[str]:
    return (engine.module for engine in engines if engine is not None)


def _source(package: str) -> PythonSource:
    try:
        return source_of(package, f"{package}.*")[0]
    except SourceProblem as error:
        message = (
            f"the code of the package {package!r} cannot go to Spark's workers: {error}. Nothing was written. Correct the "
            "installation of the distribution that it is of, in Airflow's environment"
        )
        raise ExtensionUnusable(message) from error
