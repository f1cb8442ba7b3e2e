"""Which modules connectors may name: for transforms those of ``FLOE_TRANSFORM_MODULES``, which the operator sets."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from floe.config.keys.values import parse_list

VARIABLE: Final = "FLOE_TRANSFORM_MODULES"
OWN_PACKAGES: Final = frozenset({"floe", "floe_job"})

_ENTRY: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\.\*)?", re.ASCII)
_EXAMPLE: Final = "my_module,my_package.*"
_SHOWN_CHARACTERS: Final = 100


@dataclass(frozen=True)
class AllowedModules:
    """The entries of the list: ``package.module`` for one module, ``package.*`` for a package and all below it.

    ``variable``: of the environment, which has the list.
    """

    entries: tuple[str, ...] = ()
    variable: str = VARIABLE

    @classmethod
    def of(cls, environ: Mapping[str, str], variable: str = VARIABLE) -> "AllowedModules":
        """Read the list. What is wrong with an entry is a problem of the modules that no other entry allows."""
        return cls(parse_list(environ.get(variable, "")), variable)

    @classmethod
    def present(cls, variable: str = VARIABLE) -> "AllowedModules":
        """Read the list of this process."""
        return cls.of(os.environ, variable)

    def entry(self, module: str) -> str | None:
        """Return the first entry that allows a module; None if none does."""
        return next((entry for entry in self.entries if _ENTRY.fullmatch(entry) and _covers(entry, module)), None)

    def problem(self, module: str) -> str:
        """Return why a module that no entry allows may not be used."""
        wrong = next((entry for entry in self.entries if not _ENTRY.fullmatch(entry)), None)
        listed = ", ".join(self.entries)[:_SHOWN_CHARACTERS] or "none"
        hint = f"; {wrong[:_SHOWN_CHARACTERS]!r} in it is no module" if wrong is not None else ""
        return (
            f"the module {module[:_SHOWN_CHARACTERS]!r} is not allowed here, {self.variable} lists {listed}{hint}: the "
            f"operator lists it in the environment of Airflow, such as {self.variable}={_EXAMPLE}"
        )


NO_MODULES: Final = AllowedModules()


def _covers(entry: str, module: str) -> bool:
    package = entry.removesuffix(".*")
    return module == package or (package != entry and module.startswith(f"{package}."))
