"""Typed access to the flat map by the table of keys, with collection of problems and warnings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from floe.config.keys.key import Key, KeyType, Status
from floe.config.keys.lookup import KEYS, advice, canonical_of, find, is_own, near_miss
from floe.config.keys.other_names import of_connector
from floe.config.keys.spelling import spelled_as
from floe.config.keys.values import InvalidValue, parse_boolean, parse_integer, parse_list
from floe.config.properties import Properties
from floe.config.secrets.detection import is_reference

_ENTRIES = {entry.name: entry for entry in KEYS}
_MAX_SUGGESTIONS = 20  # each compares with the whole table
_MAX_FOREIGN = 50  # unknown keys of other families: each is compared with the whole table
_SHOWN_OF_KEY = 200
_NONE = "there is no such key, nor one that means it: remove it. docs/reference/configuration.md has all keys"
_CHECKED_KINDS = (KeyType.BOOLEAN, KeyType.INT, KeyType.LONG)


class Settings:
    """Reads values by key name. A wrong value is noted once, and the key's default is returned.

    ``worker``: the worker file, for messages. ``taken``: the keys that are from there. ``notes``: what users are told that no
    setting changes.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        worker: str = "the worker file",
        taken: Collection[str] = frozenset(),
    ) -> None:
        self.properties = Properties(properties)
        self.worker = worker
        self._taken = taken
        self._flat = dict(properties)
        self.problems: list[str] = []
        self.warnings: list[str] = []
        self.notes: list[str] = []
        self.entries = {key: entry for key in self._flat if (entry := find(key)) is not None}
        self._suggested = 0
        self._foreign = 0

    def check_keys(self) -> None:
        """Check every key by its row in the table: unknown, refused, without effect, or of the wrong type."""
        spelled: dict[str, str] = {}
        for key, value in self._flat.items():
            entry = self.entries.get(key)
            if entry is None:
                self._note_unknown(key)
                continue
            if entry.kind in _CHECKED_KINDS:
                self._check_type(entry, key, value)
            if entry.status is not Status.SUPPORTED:
                self._check_status(entry, key, value)
            spelling = canonical_of(entry, key)
            other = spelled.setdefault(spelling, key)
            if other is not key and self._flat[other] != value:
                self.problems.append(f"{key} and {other} are one setting with two values: keep {spelling}")
        if self._foreign > _MAX_FOREIGN:
            self.problems.append(
                f"{self._foreign} keys are none of floe, the Iceberg sink or Kafka Connect: at most {_MAX_FOREIGN} are "
                "taken; remove those that are not for this connector"
            )

    def given(self, key: str) -> bool:
        return key in self.properties

    def is_own(self, key: str) -> bool:
        """Whether a key is the connector's, not one that it takes from the worker file."""
        return key in self._flat and key not in self._taken

    def text(self, key: str) -> str:
        """Read a STRING without blanks around it; its default, or an empty text, when absent."""
        return self.properties.get(key, _ENTRIES[key].default or "").strip()

    def names(self, key: str) -> tuple[str, ...]:
        """Read a LIST."""
        return parse_list(self.text(key))

    def not_empty(self, key: str) -> tuple[str, ...]:
        """Read a LIST of names; an empty one between two commas is a problem."""
        names = self.names(key)
        if "" in names:
            self.problems.append(f"{key} has an empty name before or behind a comma: remove it")
        return tuple(name for name in names if name)

    def boolean(self, key: str) -> bool:
        """Read a BOOLEAN; a wrong one was noted by ``check_keys``."""
        try:
            return parse_boolean(key, self.text(key))
        except InvalidValue:
            return _ENTRIES[key].default == "true"

    def integer(self, key: str) -> int:
        """Read an INT or a LONG; a wrong one was noted by ``check_keys``."""
        entry = _ENTRIES[key]
        try:
            return parse_integer(key, entry.kind, self.text(key), entry.minimum)
        except InvalidValue:
            return int(entry.default or 0)

    def _note_unknown(self, key: str) -> None:
        """Refuse a key of a family that floe knows completely, and one that looks misspelt; warn about any other."""
        shown = repr(key[:_SHOWN_OF_KEY])
        if is_own(key):
            self._suggested += 1
            hint = advice(key) if self._suggested <= _MAX_SUGGESTIONS else ""
            self.problems.append(f"unknown key {shown}; {hint[:_SHOWN_OF_KEY] or _NONE}")
            return
        self._foreign += 1
        if self._foreign > _MAX_FOREIGN:
            return
        if (meant := near_miss(key)) is not None:
            self.problems.append(f"unknown key {shown}; the nearest known key is {meant[:_SHOWN_OF_KEY]}")
        else:
            known = of_connector(key)
            hint = f"; {known}" if known else ""
            self.warnings.append(
                f"{shown} is no key of floe, the Iceberg sink or Kafka Connect: it has no effect{hint}"
            )

    def _check_type(self, entry: Key, key: str, value: str) -> None:
        try:
            if entry.kind is KeyType.BOOLEAN:
                parse_boolean(key, value)
            elif entry.kind in (KeyType.INT, KeyType.LONG):
                parse_integer(key, entry.kind, value, entry.minimum)
        except InvalidValue as error:
            self.problems.append(str(error))

    def _check_status(self, entry: Key, key: str, value: str) -> None:
        if entry.status is Status.NO_EFFECT and key not in self._taken:
            self.warnings.append(f"{key} has no effect: {entry.doc}")
        if entry.status is not Status.REFUSED:
            return
        if entry.kind is KeyType.BOOLEAN:
            asks_for_it = value.strip().lower() == "true"
        else:
            asks_for_it = value.strip().lower() not in entry.harmless
        if asks_for_it:
            yet = " yet" if entry.doc.startswith("Comes with") else ""
            self.problems.append(f"{key} is not supported{yet}: {entry.doc}")


# Reading options by name, remembering which were read: the others can be refused by name.


_SHOWN_CHARACTERS = 100
_MAX_COMPARED = 20  # unknown options: each is compared with all that have an effect


@dataclass
class OptionReader:
    """The options of one converter, without the prefix of its role.

    ``prefix``: that of the role, for messages. ``namespace``: a prefix that each option may have besides, such as
    ``schema.registry.``; an option with it takes precedence. A value that is a reference is not checked. ``connection``:
    the Airflow connection that gives a task the options that are missing. ``asked``: every name that has an effect. A copy
    with another namespace notes in the same places.
    """

    options: Mapping[str, str]
    prefix: str = ""
    namespace: str = ""
    connection: str = ""
    used: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    without_effect: dict[str, str] = field(default_factory=dict)

    def key(self, *names: str) -> str | None:
        """Return the first of the names that is given with a value, as it is spelled; all spellings count as read."""
        spelled = [one for name in names for one in ((self.namespace + name, name) if self.namespace else (name,))]
        self.asked.update(spelled)
        given = [name for name in dict.fromkeys(spelled) if name in self.options]
        self.used.update(given)
        return next((name for name in given if self.options[name].strip()), None)

    def text(self, *names: str) -> str:
        """Return the value of the first name that is given, without blanks around it; "" if none is."""
        key = self.key(*names)
        return "" if key is None else self.options[key].strip()

    def boolean(self, name: str, default: bool) -> bool:
        """Return a boolean."""
        key = self.key(name)
        if key is None or is_reference(self.options[key]):
            return default
        try:
            return parse_boolean(self.prefix + key, self.options[key])
        except InvalidValue as error:
            self.problems.append(str(error))
            return default

    def number(self, name: str, default: float, largest: int, smallest: int = 0) -> float:
        """Return an integer of a range."""
        key = self.key(name)
        if key is None or is_reference(self.options[key]):
            return default
        try:
            value = parse_integer(self.prefix + key, KeyType.INT, self.options[key], smallest)
            if value > largest:
                raise InvalidValue(self.prefix + key, self.options[key], f"Value must be no more than {largest}")
        except InvalidValue as error:
            self.problems.append(str(error))
            return default
        return value

    def seconds(self, name: str, default: float, smallest: int = 1) -> float:
        """Return milliseconds, up to 10 minutes, as seconds."""
        return self.number(name, default * 1000, 600_000, smallest) / 1000

    def refuse(self, key: str | None, why: str) -> None:
        """Note a problem of a key."""
        self.problems.append(f"{self.prefix}{key}: {why}" if key else why)

    def miss(self, why: str) -> None:
        """Note that an option is missing, unless a connection may have it."""
        if not self.connection:
            self.problems.append(why)

    def refuse_value(self, key: str, why: str) -> None:
        """Note a problem of a value that is no secret, or of one that is not given."""
        given = f" {self.options[key][:_SHOWN_CHARACTERS]!r}" if key in self.options else ""
        self.problems.append(f"{self.prefix}{key}{given}: {why}")

    def misspelt(self) -> dict[str, str]:
        """Return the options that were not read and are spellings of one that has an effect, with that one."""
        names = tuple(sorted(self.asked))
        unread = [name for name in self.options if name not in self.used][:_MAX_COMPARED]
        return {name: meant for name in unread if (meant := spelled_as(name, names)) is not None}

    def ignore(self, names: Iterable[str], why: str) -> None:
        """Count options as read that change nothing."""
        for name in names:
            for spelled in dict.fromkeys((self.namespace + name, name)):
                if spelled in self.options:
                    self.used.add(spelled)
                    self.without_effect[spelled] = why
