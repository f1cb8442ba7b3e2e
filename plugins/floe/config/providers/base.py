"""What a config provider is: it looks values up where a reference says."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from floe.config.expressions.java_regex import compile_expression

Lookup = Callable[[str, str], str | None]
"""Looks up a field (the second) of something of Airflow (the first); None if there is none."""


class ValueMissing(LookupError):
    """A provider has no value for a reference, or may not give it. The message has the reason, and no value."""


class ConfigProvider(Protocol):
    """Looks up values. ``get`` raises ValueMissing."""

    def get(self, path: str, key: str) -> str: ...

    def is_secret(self, path: str, key: str) -> bool:
        """Whether the value is hidden wherever it is quoted, whatever setting it is for."""


@dataclass(frozen=True)
class ProviderContext:
    """What providers read in this process. The look-ups of Airflow are None where there is no Airflow."""

    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    connection: Lookup | None = None
    variable: Lookup | None = None


@dataclass(frozen=True)
class ProviderClass:
    """A kind of provider. ``name``: as ``FLOE_CONFIG_PROVIDERS`` has it; ``param``: what may follow there behind ``=``.

    ``needs_param``: without one it would give everything that the process may read. ``make`` raises ValueError for a
    parameter that is none.
    """

    name: str
    param: str
    make: Callable[[Mapping[str, str], ProviderContext], ConfigProvider]
    needs_param: bool = False


@dataclass(frozen=True)
class NamePattern:
    """The names that a provider may give: those that an expression matches as a whole, all where there is none."""

    expression: str = ""

    def __post_init__(self) -> None:
        compile_expression(self.expression)

    def check(self, name: str, what: str, param: str) -> None:
        """Raise ValueMissing for a name that is not allowed."""
        if self.expression and not compile_expression(self.expression).fullmatch(name):
            msg = f"{what} {name!r} is not allowed by {param} {self.expression!r} of the provider"
            raise ValueMissing(msg)
