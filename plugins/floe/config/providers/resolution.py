"""Replacing references by values: in keys that shape a DAG when its file is parsed, in others when a task uses them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from floe.config.keys.lookup import find
from floe.config.providers.allow_list import AllowList
from floe.config.providers.base import ConfigProvider, ProviderContext, ValueMissing
from floe.config.providers.env import EnvProvider
from floe.config.providers.reference import Reference, providers_in, references_in, replace_references
from floe.config.secrets.detection import is_reference, is_secret

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


Check = Callable[[str, ConfigProvider, Reference], str | None]
"""Returns why a key may not have what a reference to a provider means; None if it may."""


def _any(_: str, __: ConfigProvider, ___: Reference) -> None:
    """Allow the values of every provider."""


def _early(key: str, provider: ConfigProvider, reference: Reference) -> str | None:
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

        def value_of(key: str, reference: Reference) -> str:
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
