"""The table of keys as Markdown, for ``docs/reference/configuration.md``."""

from floe.config.keys.key import Key, Status
from floe.config.keys.lookup import KEYS
from floe.config.libraries.client_settings import CLIENT_SETTINGS, LIVE_CLIENT_SETTINGS
from floe.config.libraries.library_settings import FILE_IO, REST_CATALOG, SQL_CATALOG
from floe.config.libraries.table_property_names import KNOWN_PROPERTIES

_TITLES = {
    Status.SUPPORTED: ("key", "type", "default", "class", "meaning"),
    Status.NO_EFFECT: ("key", "type", "sink's default", "why it has no effect"),
    Status.REFUSED: ("key", "type", "passes when", "why, and what to do"),
}


def key_table(status: Status) -> str:
    """Print the keys of one status as a table, a row each."""
    titles = _TITLES[status]
    lines = [_line(titles), _line(("---",) * len(titles))]
    lines += [
        _line((f"`{key.name}`", key.kind.value, _third(key), *_class(key), key.doc))
        for key in KEYS
        if key.status is status
    ]
    return "\n".join(lines)


def library_table() -> str:
    """Print the settings that floe passes to libraries as a table, a row for each list."""
    rows = [
        ("`iceberg.kafka.*`, `consumer.override.*`", "librdkafka", CLIENT_SETTINGS),
        ("the same, of class `live`", "librdkafka", LIVE_CLIENT_SETTINGS),
        ("`iceberg.catalog.*`", "PyIceberg's catalogs", ("type", "uri", "warehouse")),
        ("`iceberg.catalog.*`", "PyIceberg's REST catalog", REST_CATALOG),
        ("`iceberg.catalog.*`", "PyIceberg's SQL catalog, SQLAlchemy", SQL_CATALOG),
        ("`iceberg.catalog.*`", "PyIceberg's FileIO, by it pyarrow and fsspec", FILE_IO),
        ("`iceberg.tables.write-props.*`, `iceberg.tables.auto-create-props.*`", "Iceberg's tables", KNOWN_PROPERTIES),
    ]
    lines = [_line(("keys", "library", "settings")), _line(("---",) * 3)]
    lines += [_line((keys, library, ", ".join(f"`{name}`" for name in names))) for keys, library, names in rows]
    return "\n".join(lines)


def _third(key: Key) -> str:
    if key.status is Status.REFUSED:
        return ", ".join(f"`{value}`" if value else "empty" for value in _harmless(key)) or "never"
    if key.default is None:
        return "none"
    return f"`{key.default}`" if key.default else "empty"


def _class(key: Key) -> tuple[str, ...]:
    """The class of the key; for a pattern with members, theirs: all others are of class file."""
    if key.status is not Status.SUPPORTED:
        return ()
    return (f"{key.key_class.value}, some" if key.members else key.key_class.value,)


def _harmless(key: Key) -> tuple[str, ...]:
    return ("false",) if key.kind.value == "boolean" else key.harmless


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
