"""Converters whose schemas are in a registry: Confluent's classes and Apicurio's, for any format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, cast

from floe.config.converters.base import API, ConverterSpec, Role
from floe.config.exceptions import ConfigError
from floe.config.keys.reader import OptionReader
from floe.config.properties import Properties
from floe.config.schema_registry.apicurio import read_apicurio
from floe.config.schema_registry.confluent import read_confluent
from floe.config.schema_registry.settings import Api, RegistrySettings

_KEEP_NULLS: Final = "ignore.default.for.nullables"
_ID_DESERIALIZER: Final = "schema.id.deserializer"
_READERS_OF_IDS: Final = ("PrefixSchemaIdDeserializer", "DualSchemaIdDeserializer")

_READERS: Final[Mapping[Api, Callable[[OptionReader], RegistrySettings]]] = {
    "confluent": read_confluent,
    "apicurio": read_apicurio,
}


def spec_with_registry(options: OptionReader, role: Role, kind: str, api: Api) -> ConverterSpec:
    """Read the registry's options, and return what the job needs: those, and the converter's own.

    Read the converter's own before: the job gets the options that were read and have an effect, as they are given.
    """
    read_registry(options, api)
    needed = {
        name: text
        for name, text in options.options.items()
        if name in options.used and name not in options.without_effect
    }
    return ConverterSpec(kind, Properties({**needed, API: api}), role)


def read_registry(options: OptionReader, api: Api) -> RegistrySettings:
    """Read the options that are about the registry. Where problems are noted, the settings are not to be used."""
    return _READERS[api](options)


def check_ids(options: OptionReader, role: Role) -> None:
    """Refuse what makes Confluent's converters read ids from elsewhere than from a header, or from before the value."""
    key = options.key(f"{role}.{_ID_DESERIALIZER}")
    if key is not None and options.options[key].strip().rpartition(".")[2] not in _READERS_OF_IDS:
        options.refuse_value(key, f"floe has {' and '.join(_READERS_OF_IDS)}: set one, or remove it")


def read_nullables(options: OptionReader) -> None:
    """Read whether a null stays one where its field has a default: floe keeps every null that was sent."""
    if not options.boolean(_KEEP_NULLS, True):
        options.ignore((_KEEP_NULLS,), "a null that was sent stays null, as with true")


def has_registry(spec: ConverterSpec) -> bool:
    """Whether its schemas are in a registry."""
    return API in spec.options


def api_of(spec: ConverterSpec) -> Api:
    """Return whose class it is."""
    return cast(Api, spec.options[API])


def registry_of(spec: ConverterSpec) -> RegistrySettings:
    """Return the registry, in the job. Raises ConfigError for what a reference turned out to be."""
    options = OptionReader(spec.options, spec.prefix)
    settings = read_registry(options, api_of(spec))
    if options.problems:
        raise ConfigError(*options.problems)
    return settings
