"""What a declaration names in the place of the code that carries it out, which is loaded when it is first used."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Engine:
    """A name in a module, written ``package.module:name``."""

    path: str

    @property
    def module(self) -> str:
        """The module."""
        return self.path.partition(":")[0]

    @property
    def is_path(self) -> bool:
        """Whether it is written as the class says."""
        module, _, name = self.path.partition(":") if isinstance(self.path, str) else ("", "", "")
        return name.isidentifier() and all(part.isidentifier() for part in module.split("."))

    def load(self) -> Any:
        """Import the module and return what has the name. Raises ImportError, and AttributeError for no such name."""
        return getattr(import_module(self.module), self.path.partition(":")[2])

    def __call__(self, *arguments: Any, **more: Any) -> Any:
        """Call it."""
        return self.load()(*arguments, **more)
