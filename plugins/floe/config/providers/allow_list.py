"""Which config providers connectors may use: the worker file's, else those of ``FLOE_CONFIG_PROVIDERS``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from floe.config.extensions import VARIABLE as EXTENSIONS
from floe.config.keys.values import parse_list
from floe.config.properties import Properties
from floe.config.providers.base import ConfigProvider, ProviderClass, ProviderContext, ValueMissing
from floe.config.providers.config_providers import PROVIDERS
from floe.config.sections.dag import NO_CALLBACKS
from floe.config.sections.dag import VARIABLE as CALLBACKS
from floe.config.transforms.python_class import VARIABLE as MODULES
from floe.config.transforms.python_class import AllowedModules
from floe.config.worker_file import NO_FILE, WorkerFile, worker_file

VARIABLE: Final = "FLOE_CONFIG_PROVIDERS"
KEY: Final = "config.providers"
_EXAMPLE: Final = "env,file=/run/secrets"
_SHOWN_CHARACTERS: Final = 100
_NAMES: Final = ", ".join(one.name for one in PROVIDERS.values())


@dataclass(frozen=True)
class Allowed:
    """One provider under its name. ``problem``: why it gives nothing."""

    kind: ProviderClass | None
    params: Properties = Properties()  # noqa: RUF009 - immutable
    problem: str = ""


@dataclass(frozen=True)
class AllowList:
    """The providers of connectors, by the name that references have. ``origin``: where they are listed, for messages."""

    providers: Mapping[str, Allowed] = field(default_factory=dict)
    origin: str = ""

    def problem(self, name: str) -> str | None:
        """Return why references to the provider ``name`` cannot be resolved; None if they can."""
        found = self.providers.get(name)
        if found is not None:
            return found.problem or None
        listed = f"{self.origin} lists {', '.join(self.providers) or 'none'}" if self.origin else "none is listed"
        return (
            f"the config provider {name[:_SHOWN_CHARACTERS]!r} is not allowed here, {listed}: the operator lists it in {KEY} "
            f"of the worker file (FLOE_WORKER_CONFIG), or where that has none in {VARIABLE}, such as {VARIABLE}={_EXAMPLE}; "
            f"floe has the providers {_NAMES}; others' secrets come as files or variables"
        )

    def make(self, name: str, context: ProviderContext) -> ConfigProvider:
        """Make the provider of a name. Raises ValueMissing where ``problem`` has one."""
        found = self.providers.get(name)
        if found is None or found.kind is None or found.problem:
            raise ValueMissing(self.problem(name))
        return found.kind.make(found.params, context)


def allow_list(worker: WorkerFile, environ: Mapping[str, str]) -> AllowList:
    """Read the list. What is wrong with a provider is a problem of the references to it."""
    if KEY in worker.keys:
        names = parse_list(worker.keys[KEY])
        return AllowList({name: _of_worker(name, worker) for name in names if name}, worker.named)
    text = environ.get(VARIABLE, "").strip()
    if not text:
        return AllowList()
    return AllowList(dict(_of_entry(entry) for entry in parse_list(text) if entry), VARIABLE)


def _of_worker(name: str, worker: WorkerFile) -> Allowed:
    key = f"{KEY}.{name}.class"
    class_name = worker.keys.get(key, "")
    kind = PROVIDERS.get(class_name) or next(
        (one for full, one in PROVIDERS.items() if _simple(full) == class_name), None
    )
    if kind is None:
        known = ", ".join(_simple(full) for full in PROVIDERS)
        problem = (
            f"{key} {class_name!r} in {worker.named} is none that floe has: {known}; its secrets may come as files"
        )
        return Allowed(None, problem=f"{problem} or variables")
    return _checked(
        Allowed(kind, Properties(worker.keys.under(f"{KEY}.{name}.param."))), f"{KEY}.{name} in {worker.named}"
    )


def _of_entry(entry: str) -> tuple[str, Allowed]:
    name, has_param, text = (part.strip() for part in entry.partition("="))
    kind = next((one for one in PROVIDERS.values() if one.name == name), None)
    if kind is None:
        return name, Allowed(None, problem=f"{VARIABLE} has {name!r}, which is no provider of floe: it has {_NAMES}")
    if kind.needs_param and not text:
        return name, Allowed(None, problem=f"{VARIABLE} has {name!r} without a folder: write {name}=/run/secrets")
    params = {kind.param: text.replace(":", ",") if kind.needs_param else text} if has_param else {}
    return name, _checked(Allowed(kind, Properties(params)), f"{name} in {VARIABLE}")


def _checked(allowed: Allowed, where: str) -> Allowed:
    """Make the provider once: what is wrong with its parameters is its problem."""
    if allowed.kind is not None:
        try:
            allowed.kind.make(allowed.params, ProviderContext())
        except ValueError as error:
            return Allowed(None, problem=f"{where}: {error}")
    return allowed


def _simple(name: str) -> str:
    return name.rpartition(".")[2]


# What the operator's environment adds to connector files: the worker file, the providers and modules that they may
# use.


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
    def of(cls, environ: Mapping[str, str]) -> OperatorSettings:
        """Read the settings of an environment. What is wrong with them is a problem of the connectors that need them."""
        worker = worker_file(environ)
        modules, callbacks = AllowedModules.of(environ), AllowedModules.of(environ, CALLBACKS)
        return cls(worker, allow_list(worker, environ), modules, callbacks, environ)

    @classmethod
    def present(cls) -> OperatorSettings:
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
