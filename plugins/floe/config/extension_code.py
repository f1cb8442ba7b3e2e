"""The code of other distributions that a connector uses: what of it goes to Spark's workers, and which it is."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from floe.config.exceptions import ExtensionUnusable
from floe.config.transforms.python_class import OWN_PACKAGES, PythonSource, SourceProblem, source_of

if TYPE_CHECKING:
    from floe.config.converters.base import ConverterSpec
    from floe.config.engine import Engine
    from floe.config.sections.transforms import TransformSpec

VERSION: Final = 1
"""In the place of a version that the author counts: any other code is another one."""


def extension_sources(
    transforms: Iterable[TransformSpec], converters: Iterable[ConverterSpec | None]
) -> dict[str, PythonSource]:
    """Return the sources of the packages in which declarations and their code are, by package, as they are now.

    Raises ExtensionUnusable for code that is not of Python's sources, and for code that is not there.
    """
    found: dict[str, PythonSource] = {}
    for module in dict.fromkeys((*_of_transforms(transforms), *_of_converters(converters))):
        package = module.partition(".")[0]
        if package in OWN_PACKAGES:
            continue
        if package not in found:
            found[package] = _source(package)
        name = module.replace(".", "/")
        if not {f"{name}.py", f"{name}/__init__.py"} & found[package].files.keys():
            raise _unusable(module, f"there is no such module below {package!r}, where each folder has an __init__.py")
    return found


def _of_transforms(transforms: Iterable[TransformSpec]) -> Iterator[str]:
    for spec in transforms:
        options = type(spec.options)
        yield from filter(None, (options.__module__, spec.package))
        if (code := getattr(options, "engine", None)) is not None:
            yield from _modules((code.records, code.columns))
        if spec.predicate is not None:
            yield from filter(None, (spec.predicate.package, spec.predicate.engine.module))


def _of_converters(converters: Iterable[ConverterSpec | None]) -> Iterator[str]:
    for spec in converters:
        if spec is not None:
            yield from filter(None, (spec.package,))
            yield from _modules((spec.engine,))


def _modules(engines: Iterable[Engine | None]) -> Iterator[str]:
    return (engine.module for engine in engines if engine is not None)


def _source(package: str) -> PythonSource:
    if not package.isidentifier() or package in sys.stdlib_module_names:
        raise _unusable(package, "it is no package of a distribution")
    try:
        return source_of(package, f"{package}.*")[0]
    except SourceProblem as error:
        raise _unusable(package, str(error)) from error


def _unusable(module: str, problem: str) -> ExtensionUnusable:
    return ExtensionUnusable(
        f"the code {module!r} of an extension cannot go to Spark's workers: {problem}. Nothing was written. Correct its "
        "distribution in Airflow's environment"
    )
