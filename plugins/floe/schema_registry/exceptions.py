"""Errors of schema registries.

RegistryError
├── RegistryMisconfigured   certificates or addresses cannot be used
├── RegistryUnreachable     no address answered, or all had a passing fault (retryable)
├── RegistryRefused         it refuses the client
├── NotARegistry            the answer is not one of a registry
├── UnusableSchema          the registry has the schema, and it cannot be had whole
│   └── UnknownSchema       the registry has no schema with this id
└── UnknownSchemas          it has none of the schemas that the records of a slice name
"""

from __future__ import annotations

from floe.exceptions import FloeError, Retryable, Terminal


class RegistryError(FloeError):
    """Any error of ``floe.registry``."""


class RegistryMisconfigured(RegistryError, Terminal):
    """The client cannot be made: a certificate, a key or an address is not usable."""

    code = "FLOE-901"


class RegistryUnreachable(RegistryError, Retryable):
    """No address answered in time, or all answered with a fault that may pass."""

    code = "FLOE-902"


class RegistryRefused(RegistryError, Terminal):
    """The registry, or the server of its tokens, refuses the credentials."""

    code = "FLOE-903"


class NotARegistry(RegistryError, Terminal):
    """The answer is not one that a schema registry gives."""

    code = "FLOE-904"


class SchemaRefused(RegistryError, Terminal):
    """One schema cannot be used: for its records only. ``schema_id``: its id, or its name and version."""

    code = "FLOE-905"

    def __init__(self, message: str, schema_id: int | str = "", code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.schema_id = schema_id


class SchemaMissing(SchemaRefused):
    """The registry has no schema with the id."""

    code = "FLOE-906"


class UnknownSchemas(RegistryError, Terminal):
    """The registry has none of the schemas that the records of a slice name."""

    code = "FLOE-907"
