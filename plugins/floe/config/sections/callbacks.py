"""What a connector has called when a run of it ends or a table is late: ``python:package.module.attribute``.

The module is found here and not run: an error in it must not take the DAGs away. It is imported when it is called.
"""

import re
from dataclasses import dataclass
from typing import Final

from floe.config.keys.reader import Settings
from floe.config.transforms.allowed_modules import OWN_PACKAGES, AllowedModules
from floe.config.transforms.python_class import MAX_PATH, PREFIX
from floe.config.transforms.python_source import SourceProblem, find_module

ON_FAILURE, ON_SUCCESS = "floe.dag.on-failure-callback", "floe.dag.on-success-callback"
KEYS: Final = (ON_FAILURE, ON_SUCCESS)
VARIABLE: Final = "FLOE_CALLBACK_MODULES"
NO_CALLBACKS: Final = AllowedModules(variable=VARIABLE)

_PATH: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", re.ASCII)
_SHOWN_CHARACTERS: Final = 100


@dataclass(frozen=True)
class CallbackPath:
    """The place of a callable or of an Airflow notifier, and the key that names it."""

    key: str
    module: str
    attribute: str

    def __str__(self) -> str:
        return f"{self.key} '{PREFIX}{self.module}.{self.attribute}'"


def read_callback(settings: Settings, key: str, allowed: AllowedModules | None) -> CallbackPath | None:
    """Read the key; problems are noted. ``allowed``: the operator's list; None in a task, after the file was read by it."""
    text = settings.text(key)
    if not text:
        return None
    path = text.removeprefix(PREFIX)
    where = f"{key} {text[:_SHOWN_CHARACTERS]!r}"
    if path == text or not _PATH.fullmatch(path) or len(path) > MAX_PATH:
        settings.problems.append(
            f"{where} is no path of a callable: write {PREFIX}package.module.attribute, of letters, digits, '_' and dots, at "
            f"most {MAX_PATH} characters"
        )
        return None
    module, _, attribute = path.rpartition(".")
    if problem := allowed and _problem(module, allowed):
        settings.problems.append(f"{where}: {problem}")
        return None
    return CallbackPath(key, module, attribute)


def _problem(module: str, allowed: AllowedModules) -> str | None:
    if module.partition(".")[0] in OWN_PACKAGES:
        return "it is in a package of floe's own: put the callable into a module of yours"
    if allowed.entry(module) is None:
        return allowed.problem(module)
    try:
        find_module(module)
    except SourceProblem as error:
        return str(error)
    return None
