"""The description of one configuration key."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING

from floe.config.keys.key_class import KeyClass

if TYPE_CHECKING:
    from floe.config.keys.loaded_code import LoadedCode


class KeyType(enum.Enum):
    """Kafka's ConfigDef types, and ``map`` for a prefix that takes any key."""

    STRING = "string"
    LIST = "list"
    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    MAP = "map"


class Status(enum.Enum):
    """What floe does with a key in a connector."""

    SUPPORTED = "supported"
    """It has the documented meaning."""
    NO_EFFECT = "no effect"
    """It has no effect: it is type-checked, and a warning gives the reason."""
    REFUSED = "refused"
    """It is refused by name, unless its value requires nothing (``harmless``)."""


@dataclass(frozen=True)
class Key:
    """One row of the table of keys.

    ``name`` is the key itself or a pattern: ``<table>`` means a table's full name, a trailing ``*`` any rest.
    ``alias_of`` names the pattern whose meaning this spelling has. ``key_class`` says which runs may set it. For a pattern
    with ``members`` (globs of its rest) it applies to those only; all others are of class ``file``. ``code``: which of the
    keys name code that would be loaded.
    """

    name: str
    kind: KeyType
    default: str | None
    doc: str
    status: Status = Status.SUPPORTED
    harmless: tuple[str, ...] = ()
    minimum: int | None = None
    alias_of: str | None = None
    key_class: KeyClass = KeyClass.FILE
    members: tuple[str, ...] = ()
    code: LoadedCode | None = None

    @cached_property
    def is_pattern(self) -> bool:
        return "<" in self.name or self.name.endswith("*")

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        pattern = re.escape(self.name).replace("<table>", ".+").replace(r"\*", ".+")
        return re.compile(pattern, re.DOTALL)

    def matches(self, key: str) -> bool:
        """Whether ``key`` is this key, or matches this pattern."""
        return bool(self._regex.fullmatch(key)) if self.is_pattern else key == self.name

    @cached_property
    def prefix(self) -> str:
        """The text before the placeholder; the whole name when there is none."""
        return re.split(r"[<*]", self.name, maxsplit=1)[0]

    def class_of(self, key: str) -> KeyClass:
        """Return the class of ``key``, which matches this row."""
        rest = key.removeprefix(self.prefix)
        if self.members and not any(fnmatchcase(rest, member) for member in self.members):
            return KeyClass.FILE
        return self.key_class

    def names_code(self, key: str, value: str | None = None) -> bool:
        """Whether ``key``, which matches this row, names code by its value; for None, whether some value of it does."""
        return self.code is not None and self.code.names(key.removeprefix(self.prefix), value)

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
    kind: KeyType,
    default: str | None,
    doc: str,
    *,
    minimum: int | None = None,
    alias_of: str | None = None,
    key_class: KeyClass = KeyClass.FILE,
    members: tuple[str, ...] = (),
    code: LoadedCode | None = None,
) -> Key:
    """Make the row of a supported key."""
    return Key(
        name, kind, default, doc, minimum=minimum, alias_of=alias_of, key_class=key_class, members=members, code=code
    )


def no_effect(name: str, kind: KeyType, default: str | None, doc: str, *, minimum: int | None = None) -> Key:
    """Make the row of a key that has no effect in floe; ``doc`` is the reason."""
    return Key(name, kind, default, doc, Status.NO_EFFECT, minimum=minimum)


def refused(name: str, kind: KeyType, default: str | None, doc: str, *harmless: str) -> Key:
    """Make the row of a key that is not implemented; ``doc`` says why and what to do, ``harmless`` lists allowed values."""
    return Key(name, kind, default, doc, Status.REFUSED, harmless=harmless)
