"""What is known of one configuration key."""

import enum
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

from floe.config.keys.key_class import KeyClass


class Kind(enum.Enum):
    """Kafka's ConfigDef types, and ``map`` for a prefix that takes any key."""

    STRING = "string"
    LIST = "list"
    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    MAP = "map"


class Status(enum.Enum):
    """What floe does with a key that it meets in a connector."""

    SUPPORTED = "supported"
    """It has the documented meaning."""
    NO_EFFECT = "no effect"
    """It is taken, type-checked and answered with a warning that says why nothing follows from it."""
    REFUSED = "refused"
    """It is refused by name, unless its value asks for nothing (``harmless``)."""


@dataclass(frozen=True)
class Key:
    """One row of the table of keys.

    ``name`` is the key itself or a pattern: ``<table>`` stands for a table's full name, a trailing ``*`` for any rest.
    ``alias_of`` names the pattern whose meaning this spelling has. ``key_class`` says which runs may set it; of a pattern
    with ``members`` (globs of its rest) it holds for those alone, and all others are of class ``file``.
    """

    name: str
    kind: Kind
    default: str | None
    doc: str
    status: Status = Status.SUPPORTED
    harmless: tuple[str, ...] = ()
    minimum: int | None = None
    alias_of: str | None = None
    key_class: KeyClass = KeyClass.FILE
    members: tuple[str, ...] = ()

    @cached_property
    def is_pattern(self) -> bool:
        return "<" in self.name or self.name.endswith("*")

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        pattern = re.escape(self.name).replace("<table>", ".+").replace(r"\*", ".+")
        return re.compile(pattern, re.DOTALL)

    def matches(self, key: str) -> bool:
        """Whether ``key`` is this key, or one that this pattern stands for."""
        return bool(self._regex.fullmatch(key)) if self.is_pattern else key == self.name

    @cached_property
    def prefix(self) -> str:
        """The text before the placeholder; the whole name when there is none."""
        return re.split(r"[<*]", self.name, maxsplit=1)[0]

    def class_of(self, key: str) -> KeyClass:
        """Return the class of ``key``, which this row is about."""
        rest = key.removeprefix(self.prefix)
        if self.members and not any(fnmatchcase(rest, member) for member in self.members):
            return KeyClass.FILE
        return self.key_class

    @cached_property
    def suffix(self) -> str:
        """The text behind ``<table>``; empty for a trailing ``*``."""
        return self.name.partition(">")[2]

    @cached_property
    def setting(self) -> str:
        """The last part of a key about a table; empty of any other."""
        return self.suffix.removeprefix(".")


def supported(
    name: str,
    kind: Kind,
    default: str | None,
    doc: str,
    *,
    minimum: int | None = None,
    alias_of: str | None = None,
    key_class: KeyClass = KeyClass.FILE,
    members: tuple[str, ...] = (),
) -> Key:
    """Make the row of a key that means what it says."""
    return Key(name, kind, default, doc, minimum=minimum, alias_of=alias_of, key_class=key_class, members=members)


def no_effect(name: str, kind: Kind, default: str | None, doc: str, *, minimum: int | None = None) -> Key:
    """Make the row of a key that floe's design leaves without meaning; ``doc`` is the reason."""
    return Key(name, kind, default, doc, Status.NO_EFFECT, minimum=minimum)


def refused(name: str, kind: Kind, default: str | None, doc: str, *harmless: str) -> Key:
    """Make the row of a key that is not built; ``doc`` says why and what to do, ``harmless`` the values that pass."""
    return Key(name, kind, default, doc, Status.REFUSED, harmless=harmless)
