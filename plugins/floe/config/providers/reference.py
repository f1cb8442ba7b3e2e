"""References to config providers in a text: ``${provider:path:key}`` and ``${provider:key}``, as Kafka reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from floe.config.keys.lookup import find
from floe.config.providers.allow_list import AllowList
from floe.config.providers.base import ConfigProvider, ProviderContext, ValueMissing
from floe.config.providers.config_providers import EnvProvider
from floe.config.secrets.detection import is_reference, is_secret

_REFERENCE: Final = re.compile(r"\$\{([^${}:]+):([^{}]*)\}")
_VARIABLE: Final = re.compile(r"\$\{[A-Za-z_]\w*\}")
_OF_TRANSFORMS: Final = ("transforms.", "predicates.")
"""Keys in which ``${…}`` is a placeholder, or a part of an expression."""


@dataclass(frozen=True)
class ConfigReference:
    """One reference: the provider's name, the path, empty if there is none, and the key. It contains no secret."""

    provider: str
    path: str
    key: str

    def __str__(self) -> str:
        path = f"{self.path}:" if self.path else ""
        return f"${{{self.provider}:{path}{self.key}}}"


def providers_in(text: str) -> list[str]:
    """Return the providers that a text refers to, one for each reference."""
    return [provider for provider, _ in _REFERENCE.findall(text)]


def references_in(text: str) -> list[ConfigReference]:
    """Return the references in a text."""
    return [_reference(*found) for found in _REFERENCE.findall(text)]


def unreplaced(properties: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning for each key whose value has a variable of a shell or of a template, as it is written there."""
    if not _VARIABLE.search("\n".join(properties.values())):
        return
    for key, value in properties.items():
        if "${" in value and _VARIABLE.search(value) and not key.startswith(_OF_TRANSFORMS):
            yield (
                f"{key} has ${{…}} without a provider, which nothing replaces: for a variable of the environment write "
                "${env:NAME}"
            )


def replace_references(text: str, value_of: Callable[[ConfigReference], str]) -> str:
    """Replace every reference by its value; a reference in a value stays as it is."""
    return _REFERENCE.sub(lambda found: value_of(_reference(found[1], found[2])), text)


def resolved_part(text: str, value: str) -> str:
    """Return what is in ``value`` in place of the reference in ``text``; all of it where there is not just one."""
    found = list(_REFERENCE.finditer(text))
    if len(found) != 1:
        return value
    before, after = text[: found[0].start()], text[found[0].end() :]
    is_around = len(value) >= len(before) + len(after) and value.startswith(before) and value.endswith(after)
    return value[len(before) : len(value) - len(after)] if is_around else value


def _reference(provider: str, rest: str) -> ConfigReference:
    path, has_path, key = rest.partition(":")
    return ConfigReference(provider, path, key) if has_path else ConfigReference(provider, "", rest)


# Replacing references by values: in keys that shape a DAG when its file is parsed, in others when a task uses them.


LATE: Final = frozenset(
    {
        "iceberg.catalog.*",
        "iceberg.kafka.*",
        "consumer.override.*",
        "key.converter.*",
        "value.converter.*",
        "header.converter.*",
        "worker.*",
    }
)
"""Rows of the key table whose values nothing needs before a task connects: to a catalog, to brokers, to a registry."""

_SHOWN_CHARACTERS = 200
_TOLD = (
    "a secret, and Airflow shows what this key means: in DAGs, errors and logs. Refer to a variable without a secret; one "
    "may be in keys of the catalog, of Kafka's clients and of converters, and in keys that are named as secrets are"
)
_WHOLE = "a reference is written ${provider:key} or ${provider:path:key}"


@dataclass(frozen=True)
class Resolved:
    """Values without references. ``secrets``: values to be hidden, whatever the setting. ``problems``: a line each."""

    values: dict[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    problems: tuple[str, ...] = ()


def is_late(key: str) -> bool:
    """Whether the references in a key are resolved by tasks; in all others when the file is parsed."""
    entry = find(key)
    return entry is not None and entry.name in LATE


def resolve_at_parse(keys: Mapping[str, str], allowed: AllowList, environ: Mapping[str, str]) -> Resolved:
    """Resolve the keys that shape a DAG, by environment variables only; check the references in all others."""
    early: dict[str, str] = {}
    problems: list[str] = []
    for key, value in keys.items():
        if "${" not in value or not is_reference(value):
            continue
        if is_late(key):
            names = dict.fromkeys(providers_in(value))
            whys = [why for name in names if (why := allowed.problem(name))] if names else [_WHOLE]
            problems += [f"{key[:_SHOWN_CHARACTERS]}: {why}" for why in whys]
        else:
            early[key] = value
    found = Resolver(allowed, ProviderContext(environ)).resolve(early, _early)
    told = {key for key, value in found.values.items() if not is_secret(key) and is_secret("", value)}
    problems += [f"{key[:_SHOWN_CHARACTERS]}: {early[key][:_SHOWN_CHARACTERS]}: its value has {_TOLD}" for key in told]
    values = {key: value for key, value in found.values.items() if key not in told}
    return Resolved(values, problems=(*found.problems, *problems))


def late_references(keys: Mapping[str, str]) -> dict[str, str]:
    """Return the keys with references that tasks resolve."""
    return {key: value for key, value in keys.items() if "${" in value and is_late(key) and providers_in(value)}


Check = Callable[[str, ConfigProvider, ConfigReference], str | None]
"""Returns why a key may not have what a reference to a provider means; None if it may."""


def _any(_: str, __: ConfigProvider, ___: ConfigReference) -> None:
    """Allow the values of every provider."""


def _early(key: str, provider: ConfigProvider, reference: ConfigReference) -> str | None:
    if isinstance(provider, EnvProvider):
        is_told = provider.is_secret(reference.path, reference.key) and not is_secret(key)
        return f"it is the name of {_TOLD}" if is_told else None
    return "the key is needed when the connector file is parsed: only environment variables are read there"


class Resolver:
    """Resolves references in one process."""

    def __init__(self, allowed: AllowList, context: ProviderContext) -> None:
        self._allowed = allowed
        self._context = context
        self._providers: dict[str, ConfigProvider] = {}

    def resolve(self, keys: Mapping[str, str], check: Check = _any) -> Resolved:
        """Replace the references in values, each once: a reference in a value stays as it is."""
        values: dict[str, str] = {}
        problems: list[str] = []
        secrets: dict[str, None] = {}

        def value_of(key: str, reference: ConfigReference) -> str:
            provider = self._provider(reference.provider)
            if why := check(key, provider, reference):
                raise ValueMissing(why)
            value = provider.get(reference.path, reference.key)
            if provider.is_secret(reference.path, reference.key):
                secrets[value] = None
            return value

        for key, text in keys.items():
            shown = key[:_SHOWN_CHARACTERS]
            if not references_in(text):
                problems.append(f"{shown}: {_WHOLE}")
                continue
            try:
                values[key] = replace_references(text, partial(value_of, key))
            except ValueMissing as error:
                problems.append(f"{shown}: {', '.join(map(str, references_in(text)))[:_SHOWN_CHARACTERS]}: {error}")
        return Resolved(values, tuple(secrets), tuple(problems))

    def _provider(self, name: str) -> ConfigProvider:
        if name not in self._providers:
            self._providers[name] = self._allowed.make(name, self._context)
        return self._providers[name]
