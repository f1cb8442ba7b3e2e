"""What a converter is to the configuration: a class of Kafka Connect, and the options that the job needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from floe.config.converters.kinds import JSON
from floe.config.engine import Engine
from floe.config.properties import Properties

if TYPE_CHECKING:
    from floe.config.keys.reader import OptionReader

Role = Literal["key", "value", "header"]

KEYS_AND_VALUES: Final = frozenset[Role]({"key", "value"})
ALL_ROLES: Final = frozenset[Role]({"key", "value", "header"})

API: Final = "floe.registry.api"
"""The option of a spec that says whose class the converter is, and with it how its options and its records are read."""


@dataclass(frozen=True)
class ConverterSpec:
    """How the bytes of one role are read: picklable.

    ``kind``: which bytes: one of ``kinds.ENGINES``, which has the code, or another with its code in ``engine``.
    ``options``: what that needs, as the options of the Java class are written, without the prefix of the role. ``package``:
    of the extension that declares the class, if one does.
    """

    kind: str = JSON
    options: Properties = Properties()  # noqa: RUF009 - immutable
    role: Role = "value"
    engine: Engine | None = None
    package: str = field(default="", compare=False)

    @property
    def prefix(self) -> str:
        """Return what is before the options in a connector file."""
        return prefix_of(self.role)


PLAIN_JSON: Final = ConverterSpec()


@dataclass(frozen=True)
class ConverterClass:
    """A converter class of Kafka Connect that floe reads for some roles.

    ``read`` reads the options of one role: it returns the kind of the implementation, and the options that this needs.
    What is wrong, and what changes nothing, it notes in the reader; options that it does not ask for change nothing.
    """

    roles: frozenset[Role]
    read: Callable[[OptionReader, Role], ConverterSpec]


def prefix_of(role: Role) -> str:
    """Return what is before the options of a role in a connector file."""
    return f"{role}.converter."
