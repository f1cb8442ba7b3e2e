"""The tables that a connector names, and what it says of each."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from floe.config.expressions import check_expression
from floe.config.key import Key
from floe.config.names import plain_problem, table_problem, topic_problem
from floe.config.partition import parse_partition_by
from floe.config.scalars import parse_list
from floe.config.settings import Settings
from floe.config.sorting import parse_sort_by
from floe.config.table_settings import TableSettings
from floe.config.vocabulary import find

STATIC = "iceberg.tables"
BRANCH, PARTITION_BY, ID_COLUMNS = "commit-branch", "partition-by", "id-columns"
REGEX, TOPICS, SORT_BY = "route-regex", "topics", "sort-by"

_DEFAULTS = {
    BRANCH: "iceberg.tables.default-commit-branch",
    PARTITION_BY: "iceberg.tables.default-partition-by",
    ID_COLUMNS: "iceberg.tables.default-id-columns",
}
_SHOWN_CHARACTERS = 200
_T = TypeVar("_T")


@dataclass(frozen=True)
class Tables:
    """``named``: the tables of ``iceberg.tables``, in order. ``known``: each table that something is said of, those that
    records name themselves too. ``default``: what holds for all others.
    """

    named: tuple[str, ...]
    known: tuple[tuple[str, TableSettings], ...]
    default: TableSettings

    @cached_property
    def _by_name(self) -> dict[str, TableSettings]:
        return dict(self.known)

    def of(self, table: str) -> TableSettings:
        return self._by_name.get(table, self.default)


def table_of(key: str) -> tuple[str, str] | None:
    """Take a key about one table apart: the table's name, and the setting's. None for any other key."""
    entry = find(key)
    return None if entry is None else _table_of(entry, key)


def _table_of(entry: Key, key: str) -> tuple[str, str] | None:
    if "<table>" not in entry.name:
        return None
    return key[len(entry.prefix) : -len(entry.suffix)], entry.suffix.removeprefix(".")


def read_tables(settings: Settings, topics: Collection[str]) -> Tables:
    """Read ``iceberg.tables`` and all settings by table; ``topics``: those that a table may ask for, empty for any."""
    names = _read_names(settings)
    texts: dict[str, dict[str, str]] = {}
    keys: dict[str, dict[str, str]] = {}
    for key, entry in settings.entries.items():
        if (found := _table_of(entry, key)) is not None:
            table, setting = found
            texts.setdefault(table, {})[setting] = settings.properties[key]
            keys.setdefault(table, {})[setting] = key
    _check_tables(settings, names, keys)
    reader = _Reader(settings, topics)
    given = {name: settings.text(key) for name, key in _DEFAULTS.items() if settings.given(key)}
    default = reader.read(given, _DEFAULTS, TableSettings())
    unsaid = reader.read({}, {}, default)
    known = tuple(
        (table, reader.read(texts[table], keys[table], default) if table in texts else unsaid)
        for table in dict.fromkeys([*names, *texts])
    )
    tables = Tables(names, known, default)
    _check_topics(settings, tables, topics)
    return tables


def _check_topics(settings: Settings, tables: Tables, topics: Collection[str]) -> None:
    """Note topics whose records no table of a list takes: they are read and left out, as that may be meant."""
    wanted = [tables.of(table).topics for table in tables.named]
    if not wanted or None in wanted:
        return
    idle = sorted(set(topics) - frozenset().union(*(some for some in wanted if some is not None)))
    if idle:
        settings.warnings.append(
            f"no table of {STATIC} takes the records of {', '.join(idle)[:_SHOWN_CHARACTERS]}: they are read, and filtered; "
            f"name the topic in floe.table.<table>.{TOPICS}, or drop it from topics"
        )


def _read_names(settings: Settings) -> tuple[str, ...]:
    tables = settings.names(STATIC)
    settings.problems.extend(f"{STATIC}: {problem}" for table in tables if (problem := table_problem(table)))
    twice = sorted(table for table, count in Counter(tables).items() if count > 1)
    settings.problems.extend(f"{STATIC} names {table[:300]!r} twice: keep one" for table in twice)
    return tuple(dict.fromkeys(tables))


def _check_tables(settings: Settings, names: tuple[str, ...], keys: Mapping[str, Mapping[str, str]]) -> None:
    """Note keys about tables that there are not, or cannot be."""
    known, shown = set(names), ", ".join(names)[:_SHOWN_CHARACTERS]
    for table, of_table in keys.items():
        if names and table not in known:
            problem = f"is about a table that {STATIC} does not name: it names {shown}"
        elif not names and (wrong := table_problem(table)):
            problem = wrong
        else:
            continue
        settings.problems.extend(f"{key[:_SHOWN_CHARACTERS]}: {problem}" for key in of_table.values())


class _Reader:
    def __init__(self, settings: Settings, topics: Collection[str]) -> None:
        self._settings = settings
        self._topics = frozenset(topics)
        self._shown = ", ".join(topics)[:_SHOWN_CHARACTERS]

    def read(self, texts: Mapping[str, str], keys: Mapping[str, str], base: TableSettings) -> TableSettings:
        """Read one table's settings from texts by name; ``keys``: under which key each stands, for the problems."""
        return TableSettings(
            branch=self._setting(texts, keys, BRANCH, _branch, base.branch),
            partition_by=self._setting(texts, keys, PARTITION_BY, parse_partition_by, base.partition_by),
            id_columns=self._setting(texts, keys, ID_COLUMNS, _columns, base.id_columns),
            sort_by=self._setting(texts, keys, SORT_BY, parse_sort_by, base.sort_by),
            route_regex=self._setting(texts, keys, REGEX, _regex, None),
            topics=self._setting(texts, keys, TOPICS, self._some_topics, None),
        )

    def _setting(
        self, texts: Mapping[str, str], keys: Mapping[str, str], name: str, parse: Callable[[str], _T], otherwise: _T
    ) -> _T:
        if name not in texts:
            return otherwise
        try:
            return parse(texts[name])
        except ValueError as error:
            self._settings.problems.append(f"{keys[name][:_SHOWN_CHARACTERS]}: {error}")
            return otherwise

    def _some_topics(self, text: str) -> frozenset[str]:
        topics = parse_list(text)
        for topic in topics:
            if problem := topic_problem(topic):
                raise ValueError(problem)
            if self._topics and topic not in self._topics:
                msg = f"{topic!r} is not among the connector's topics ({self._shown}): mend the name, or add it there"
                raise ValueError(msg)
        if not topics:
            msg = "names no topic: name some, or remove the key"
            raise ValueError(msg)
        return frozenset(topics)


def _branch(text: str) -> str | None:
    if problem := plain_problem(text):
        raise ValueError(problem)
    return None if text == "main" else text


def _columns(text: str) -> tuple[str, ...]:
    columns = parse_list(text)
    wrong = next((column for column in columns if not all(column.split("."))), None)
    if wrong is not None:
        msg = f"{wrong[:100]!r} names no column: write names with commas between"
        raise ValueError(msg)
    twice = next((column for column, count in Counter(columns).items() if count > 1), None)
    if twice is not None:
        msg = f"{twice[:100]!r} is named twice: keep one"
        raise ValueError(msg)
    return columns


def _regex(text: str) -> str:
    check_expression(text)
    return text
