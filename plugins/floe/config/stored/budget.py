"""How much all connectors that the REST API made may have together; what is beyond is left out, by name.

Airflow parses the DAGs of all of them in one process, and ends it after 50 seconds. So what one of them may have does not
bound what many have. The oldest count first: a new one takes no other's place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from floe.config.connector_files import ConnectorFile
from floe.config.exceptions import ConfigError
from floe.config.stored.stored_connector import StoredConnector, place_of

MAX_CONNECTORS: Final = 500
MAX_BYTES: Final = 4 << 20
"""Of their configurations as they are stored."""

MAX_TABLES: Final = 10_000
"""Tables that they name: each is an asset in the DAG."""

Read = Callable[[str, str], ConnectorFile]
"""Reads a stored connector, given its name and its text."""

_LAST: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Use:
    """What some connectors have together."""

    connectors: int = 0
    nbytes: int = 0
    tables: int = 0

    @classmethod
    def of(cls, text: str, file: ConnectorFile | None = None) -> Use:
        """Measure one connector by its stored text, and by what it names once it is parsed."""
        connector = None if file is None else file.connector
        return cls(1, len(text.encode(errors="replace")), 0 if connector is None else len(connector.tables))

    def __add__(self, other: Use) -> Use:
        return Use(self.connectors + other.connectors, self.nbytes + other.nbytes, self.tables + other.tables)

    def problem(self) -> str | None:
        """Return which limit is exceeded; None if none is."""
        counted = (
            (self.connectors, MAX_CONNECTORS, "connectors"),
            (self.nbytes, MAX_BYTES, "bytes of configuration"),
            (self.tables, MAX_TABLES, "tables"),
        )
        return next(
            (
                f"the connectors made by REST would have {count} {what} together, and may have {limit}"
                for count, limit, what in counted
                if count > limit
            ),
            None,
        )


def read_within(texts: Mapping[str, str], read: Read) -> dict[str, ConnectorFile]:
    """Read stored connectors, given their texts by name; those beyond the limits have an error and are ``is_left_out``."""
    found = _read(sorted(texts), texts, read)
    if any(file.is_left_out for file in found.values()):
        found = _read(sorted(texts, key=lambda name: (_made(name, texts[name]), name)), texts, read)
    return dict(sorted(found.items()))


def _read(order: Iterable[str], texts: Mapping[str, str], read: Read) -> dict[str, ConnectorFile]:
    use, found = Use(), {}
    for name in order:
        text = texts[name]
        problem, file = (use + Use.of(text)).problem(), None
        if problem is None:  # else it is not parsed
            file = read(name, text)
            problem = (use + Use.of(text, file)).problem()
        if file is None or problem is not None:
            found[name] = _left_out(name, problem or "")
        else:
            use, found[name] = use + Use.of(text, file), file
    return found


def _left_out(name: str, problem: str) -> ConnectorFile:
    msg = (
        f"the connector is left out, as {problem}. It has no DAG and no run; its offsets stay as they are. Delete other "
        "connectors by REST, or write connectors into files, which have no such limit"
    )
    return ConnectorFile(place_of(name), name, None, ConfigError(msg).located(place_of(name)), is_left_out=True)


def _made(name: str, text: str) -> datetime:
    try:
        return StoredConnector.from_text(name, text).made or _LAST
    except ConfigError:
        return _LAST
