"""Settings of registries as tests need them: quick to give up."""

from __future__ import annotations

from floe.config.registry.confluent import read_confluent
from floe.config.registry.settings import RegistrySettings

QUICK = {"retries.wait.ms": "0", "retries.max.wait.ms": "0", "max.retries": "2", "http.read.timeout.ms": "5000"}


def settings(url: str, **options: str) -> RegistrySettings:
    """Return the settings of Confluent's options; those given are named with ``_`` for ``.``."""
    named = {name.replace("_", "."): value for name, value in options.items()}
    found = read_confluent({"schema.registry.url": url, **QUICK, **named}, "value.converter.")
    assert found.problems == ()
    assert found.settings is not None
    return found.settings
