"""Typed access to the flat map by the table of keys, with collection of problems and warnings."""

from collections.abc import Collection, Mapping

from floe.config.keys.key import Key, Kind, Status
from floe.config.keys.lookup import advice, canonical_of, find, is_own, near_miss
from floe.config.keys.other_names import of_connector
from floe.config.keys.table import KEYS
from floe.config.keys.values import InvalidValue, parse_boolean, parse_integer, parse_list
from floe.config.properties import Properties

_ENTRIES = {entry.name: entry for entry in KEYS}
_MAX_SUGGESTIONS = 20  # each compares with the whole table
_MAX_FOREIGN = 50  # unknown keys of other families: each is compared with the whole table
_SHOWN_CHARACTERS = 200
_NONE = "there is no such key, nor one that means it: remove it. docs/reference/configuration.md has all keys"
_CHECKED_KINDS = (Kind.BOOLEAN, Kind.INT, Kind.LONG)


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
        shown = repr(key[:_SHOWN_CHARACTERS])
        if is_own(key):
            self._suggested += 1
            hint = advice(key) if self._suggested <= _MAX_SUGGESTIONS else ""
            self.problems.append(f"unknown key {shown}; {hint[:_SHOWN_CHARACTERS] or _NONE}")
            return
        self._foreign += 1
        if self._foreign > _MAX_FOREIGN:
            return
        if (meant := near_miss(key)) is not None:
            self.problems.append(f"unknown key {shown}; the nearest known key is {meant[:_SHOWN_CHARACTERS]}")
        else:
            known = of_connector(key)
            hint = f"; {known}" if known else ""
            self.warnings.append(
                f"{shown} is no key of floe, the Iceberg sink or Kafka Connect: it has no effect{hint}"
            )

    def _check_type(self, entry: Key, key: str, value: str) -> None:
        try:
            if entry.kind is Kind.BOOLEAN:
                parse_boolean(key, value)
            elif entry.kind in (Kind.INT, Kind.LONG):
                parse_integer(key, entry.kind, value, entry.minimum)
        except InvalidValue as error:
            self.problems.append(str(error))

    def _check_status(self, entry: Key, key: str, value: str) -> None:
        if entry.status is Status.NO_EFFECT and key not in self._taken:
            self.warnings.append(f"{key} has no effect: {entry.doc}")
        if entry.status is not Status.REFUSED:
            return
        if entry.kind is Kind.BOOLEAN:
            asks_for_it = value.strip().lower() == "true"
        else:
            asks_for_it = value.strip().lower() not in entry.harmless
        if asks_for_it:
            yet = " yet" if entry.doc.startswith("Comes with") else ""
            self.problems.append(f"{key} is not supported{yet}: {entry.doc}")
