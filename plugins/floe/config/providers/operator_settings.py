"""What the operator's environment adds to connector files: the worker file, the providers and modules that they may use."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from floe.config.extensions import VARIABLE as EXTENSIONS
from floe.config.providers.allow_list import VARIABLE, AllowList, allow_list
from floe.config.sections.callbacks import NO_CALLBACKS
from floe.config.sections.callbacks import VARIABLE as CALLBACKS
from floe.config.transforms.allowed_modules import VARIABLE as MODULES
from floe.config.transforms.allowed_modules import AllowedModules
from floe.config.worker.worker_file import NO_FILE, WorkerFile, worker_file


@dataclass(frozen=True)
class OperatorSettings:
    """``environ``: where the keys that shape a DAG are resolved from. ``modules``: those of transforms in Python.

    ``callbacks``: modules of callbacks."""

    worker: WorkerFile = NO_FILE
    providers: AllowList = field(default_factory=AllowList)
    modules: AllowedModules = field(default_factory=AllowedModules)
    callbacks: AllowedModules = NO_CALLBACKS
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "OperatorSettings":
        """Read the settings of an environment. What is wrong with them is a problem of the connectors that need them."""
        worker = worker_file(environ)
        modules, callbacks = AllowedModules.of(environ), AllowedModules.of(environ, CALLBACKS)
        return cls(worker, allow_list(worker, environ), modules, callbacks, environ)

    @classmethod
    def present(cls) -> "OperatorSettings":
        """Read the settings of this process."""
        return cls.of(os.environ)

    @property
    def version(self) -> tuple[WorkerFile, tuple[str, ...]]:
        """What a connector without references depends on beside its file."""
        return self.worker, tuple(self.environ.get(name, "") for name in (VARIABLE, MODULES, CALLBACKS, EXTENSIONS))

    @property
    def has_references(self) -> bool:
        """Whether what connectors take from the worker file depends on the environment."""
        return any("${" in value for value in self.worker.keys.values())


NOTHING: Final = OperatorSettings()
