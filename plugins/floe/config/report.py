"""A report on a connector file, for people: its problems or warnings, then a row for each key."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from floe.config.connector import OFFSET_RESET, Connector
from floe.config.connector_files import ConnectorFile
from floe.config.exceptions import ConfigError
from floe.config.kafka.translation import translate
from floe.config.kafka.worker_keys import WorkerKeys
from floe.config.keys.key import Status
from floe.config.keys.lookup import canonical
from floe.config.keys.table import KEYS
from floe.config.overrides.run_keys import class_of
from floe.config.secrets.detection import shown
from floe.config.secrets.mask import Mask, short_secret
from floe.config.sections.error_policy import TOLERANCE
from floe.config.sections.routing import ON_UNROUTABLE
from floe.config.worker.defaults import is_default
from floe.config.worker.worker_file import WorkerFile
from floe.exceptions import with_code

_MAX_KEY = 60
_MAX_VALUE = 200
_MAX_KEYS = 50
_PROVIDERS = "config.providers"


class Row(NamedTuple):
    """One key: its value with secrets hidden, where it is from, and the class that says which runs may set it."""

    key: str
    value: str
    source: str
    key_class: str


def report(file: ConnectorFile) -> str:
    """Describe one file: all its problems, or warnings and notes first and then every key that counts."""
    if file.connector is None:
        error = file.error or ConfigError("the file contains no connector")
        return f"ERROR {readable(with_code(str(error), error.code))}"
    connector = file.connector
    warnings = warnings_of(connector)
    lines = [f"OK {readable(str(file.path))}: connector {connector.name}, {counted(len(warnings), 'warning')}"]
    lines += [f"  WARNING {readable(warning)}" for warning in warnings]
    lines += [f"  NOTE {readable(note)}" for note in connector.notes]
    rows = [Row("key", "value", "from", "class"), *rows_of(connector, file.given)]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append(f"  {'  '.join([*cells, row.key_class])}")
    return "\n".join(lines)


def worker_report(worker: WorkerFile) -> str:
    """Describe a worker file: which of its keys are whose, and which have no effect."""
    clients = WorkerKeys.of(worker)
    defaults = [key for key in worker.keys if is_default(key) or key.startswith(_PROVIDERS)]
    control, source = (list(client.spelled.values()) for client in (clients.control, clients.source))
    used = {*defaults, *control, *source, *clients.without_effect}
    others = counted(len(worker.keys.keys() - used), "other key")
    rows = [("connectors", defaults), ("clients of the control topic", control), ("clients of topics", source)]
    lines = [f"worker file {worker.path}"]
    lines += [f"  {who}: {_listed(keys)}" for who, keys in rows]
    if control or source:
        lines.append(
            "  an Airflow connection counts over its client settings; one with brokers takes no security of it"
        )
    lines += [f"  {key} has no effect: {why}" for key, why in [*clients.without_effect.items()][:_MAX_KEYS]]
    lines += [
        f"  WARNING {problem}, or put brokers and login into the Airflow connection" for problem in _unusable(clients)
    ]
    lines.append(f"  {others} of the worker itself (REST, plugins, storage, ...) mean nothing to floe")
    return readable("\n".join(lines))


def _listed(keys: list[str]) -> str:
    return ", ".join([*keys[:_MAX_KEYS], *(["…"] if len(keys) > _MAX_KEYS else [])]) or "none"


def _unusable(clients: WorkerKeys) -> Iterator[str]:
    """Yield the client settings that cannot be translated, as the file spells them."""
    found = {
        client.spelled[name]: why
        for client in (clients.control, clients.source)
        for name, why in translate(client.settings, may_refer=True, is_java=True).problems.items()
    }
    yield from (f"{key} is not usable: {why}" for key, why in found.items())


def warnings_of(connector: Connector) -> tuple[str, ...]:
    """Return a connector's warnings, and one for each secret that is too short to be hidden.

    Those are for users who may read the file. The connector's own warnings are in the docs of its DAG.
    """
    short = Mask.of(connector.properties).too_short
    return (*connector.warnings, *(short_secret(key) for key in sorted(short)))


def rows_of(connector: Connector, given: Collection[str]) -> Iterator[Row]:
    """Yield the keys of a connector: ``given`` in its file, taken from the worker file, then those whose default holds."""
    for key, value in connector.properties.items():
        yield _row(key, value, "file" if key in given else "default" if key == "name" else "worker")
    spelled = {canonical(key) for key in connector.properties}
    effective = {
        OFFSET_RESET: connector.offset_reset,
        TOLERANCE: "all" if connector.errors.tolerate else "none",
        ON_UNROUTABLE: connector.routing.on_unroutable,
    }
    for entry in KEYS:
        default = effective.get(entry.name, entry.default)
        if default is None or entry.is_pattern or entry.status is not Status.SUPPORTED or entry.name in spelled:
            continue
        yield _row(entry.name, default.replace("<name>", connector.name), "default")


def counted(number: int, noun: str) -> str:
    """Write a number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def readable(text: str) -> str:
    """Escape a text from a file so that a terminal only shows it; lines are kept."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def _row(key: str, value: str, source: str) -> Row:
    return Row(_cut(key, _MAX_KEY), _cut(shown(key, value), _MAX_VALUE) or "(empty)", source, class_of(key).value)


def _cut(text: str, limit: int) -> str:
    line = readable(text).replace("\n", "\\n")
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
