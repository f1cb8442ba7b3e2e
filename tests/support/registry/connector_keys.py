"""Keys of connectors whose values have schemas in a registry, for tests of the options of converters."""

from __future__ import annotations

from collections.abc import Callable

from floe.config import Connector

VALUE = "value.converter."
NONE = (f"{VALUE}schemas.enable",)
"""What the smallest connector has, and a converter with a registry has not."""

Make = Callable[..., Connector]
Problems = Callable[..., tuple[str, ...]]


def with_confluents(converter: str) -> dict[str, str]:
    """Return the keys of one of Confluent's classes."""
    return {"value.converter": converter, f"{VALUE}schema.registry.url": "http://registry:8081"}


def with_apicurios(converter: str, api: str = "") -> dict[str, str]:
    """Return the keys of one of Apicurio's classes. ``api``: the path of the address."""
    return {"value.converter": converter, f"{VALUE}apicurio.registry.url": f"http://registry:8080{api}"}
