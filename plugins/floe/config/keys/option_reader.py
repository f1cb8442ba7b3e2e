"""Reading options by name, remembering which were read: the others can be refused by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from floe.config.keys.key import Kind
from floe.config.keys.spelling import spelled_as
from floe.config.keys.values import InvalidValue, parse_boolean, parse_integer
from floe.config.secrets.detection import is_reference

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
            value = parse_integer(self.prefix + key, Kind.INT, self.options[key], smallest)
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
