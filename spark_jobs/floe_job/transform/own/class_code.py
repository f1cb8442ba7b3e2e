"""The class of the user, as a worker imports it: the code of the plan, and no other."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from floe.config.transforms.python_class import PREFIX, PythonClass
from floe.config.transforms.python_source import SourceProblem
from floe_job.exceptions import OwnTransformFailed, clip
from floe_job.transform.own.batch import Batch

_MAX_ERROR = 300
_imported: dict[str, str] = {}
"""By module the hash of the code when this process imported it."""


def apply_of(options: PythonClass) -> Callable[[Batch], Any]:
    """Import the class, make the transform, and return what it applies. Raises OwnTransformFailed."""
    try:
        present = options.present()
    except SourceProblem as error:
        _fail(options, f"is not on this worker: {error}")
    if (present.version, present.sha256) != (options.version, options.sha256):
        _fail(
            options,
            f"is another one on this worker, with version {present.version} and hash {present.sha256[:12]}, than the plan's "
            f"{options.version} and {options.sha256[:12]}: remove it from the workers' own path, or trigger a new run",
        )
    _forget_other_code(options)
    try:
        module = importlib.import_module(options.module)
        _imported[options.module] = options.sha256
        apply: Callable[[Batch], Any] = getattr(module, options.class_name)(dict(options.keys)).apply
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the user's code may raise anything: a panic of Rust's is no Exception
        raise failure_of(options, error) from error
    return apply


def failure_of(options: PythonClass, error: BaseException) -> OwnTransformFailed:
    """Return the error of a run in which the class raised another one."""
    return OwnTransformFailed(f"{raised(options, error)}. {ADVICE}")


def raised(options: PythonClass, error: BaseException) -> str:
    """Return what the class raised, and where."""
    last = next(iter(reversed(traceback.extract_tb(error.__traceback__))), None)
    where = "" if last is None else f" ({last.filename.rpartition('/')[2]}, line {last.lineno})"
    line = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1:]
    text = clip(line[0] if line else type(error).__name__, _MAX_ERROR)
    return f"{named(options)} raised {text}{where}"


def named(options: PythonClass) -> str:
    """Return a transform as errors name it."""
    return f"transforms.{options.alias} ({PREFIX}{options.path})"


ADVICE = "Nothing was announced. Correct the class, raise its version if rows become others, and trigger a new run"


def _fail(options: PythonClass, what: str) -> NoReturn:
    msg = f"{named(options)} {what}. Nothing was announced"
    raise OwnTransformFailed(msg)


def _forget_other_code(options: PythonClass) -> None:
    """Have the module imported again where this process imported other code before."""
    if _imported.get(options.module, options.sha256) == options.sha256:
        return
    package = options.entry.removesuffix(".*")
    for name in [name for name in sys.modules if name in (package, options.module) or name.startswith(f"{package}.")]:
        del sys.modules[name]
    importlib.invalidate_caches()
