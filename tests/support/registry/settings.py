"""Settings of registries as tests need them: quick to give up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from floe.config.keys.reader import OptionReader
from floe.config.schema_registry.confluent import read_confluent
from floe.config.schema_registry.settings import RegistrySettings

QUICK = {"retries.wait.ms": "0", "retries.max.wait.ms": "0", "max.retries": "2", "http.read.timeout.ms": "5000"}


@dataclass(frozen=True)
class Found:
    """What the options of a registry say; ``settings`` is None where there are problems."""

    settings: RegistrySettings | None
    used: frozenset[str]
    problems: tuple[str, ...]
    without_effect: Mapping[str, str]


def found_in(read: Callable[[OptionReader], RegistrySettings], given: Mapping[str, str], prefix: str = "") -> Found:
    """Read options."""
    options = OptionReader(given, prefix)
    settings = read(options)
    problems = tuple(options.problems)
    return Found(None if problems else settings, frozenset(options.used), problems, options.without_effect)


def settings(url: str, **options: str) -> RegistrySettings:
    """Return the settings of Confluent's options; those given are named with ``_`` for ``.``."""
    named = {name.replace("_", "."): value for name, value in options.items()}
    found = found_in(read_confluent, {"schema.registry.url": url, **QUICK, **named}, "value.converter.")
    assert found.problems == ()
    assert found.settings is not None
    return found.settings
