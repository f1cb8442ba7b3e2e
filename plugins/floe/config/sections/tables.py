"""The tables that a connector names, and its settings for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from floe.config.exceptions import MAX_SHOWN_PROBLEMS
from floe.config.keys.values import parse_list
from floe.config.names import plain_problem, table_problem, topic_problem
from floe.config.sections.field_terms import PartitionTerm, SortTerm, parse_partition_by, parse_sort_by

if TYPE_CHECKING:
    from floe.config.keys.key import Key
    from floe.config.keys.reader import Settings


@dataclass(frozen=True)
class TableSettings:
    """The keys ``iceberg.table.<table>.*`` and ``floe.table.<table>.*``, with the defaults for all tables under them.

    ``branch`` is None for main. ``topics`` is None if the table gets every topic.
    """

    branch: str | None = None
    partition_by: tuple[PartitionTerm, ...] = ()
    id_columns: tuple[str, ...] = ()
    sort_by: tuple[SortTerm, ...] = ()
    route_regex: str | None = None
    topics: frozenset[str] | None = None


STATIC = "iceberg.tables"
BRANCH, PARTITION_BY, ID_COLUMNS = "commit-branch", "partition-by", "id-columns"
REGEX, TOPICS, SORT_BY = "route-regex", "topics", "sort-by"

_DEFAULTS = {
    BRANCH: "iceberg.tables.default-commit-branch",
    PARTITION_BY: "iceberg.tables.default-partition-by",
    ID_COLUMNS: "iceberg.tables.default-id-columns",
}
_SHOWN_CHARACTERS = 200


@dataclass(frozen=True)
class TableRules:
    """``named``: the tables of ``iceberg.tables``, in order. ``known``: each table with settings of its own, including those
    that records name. ``default``: the settings of all others.
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
    """Split a key about one table into the table's name and the setting's. None for any other key."""
    from floe.config.keys.lookup import find  # not above: workers get settings, and read none

    entry = find(key)
    return None if entry is None else _table_of(entry, key)


def _table_of(entry: Key, key: str) -> tuple[str, str] | None:
    if not entry.suffix:
        return None
    return key[len(entry.prefix) : -len(entry.suffix)], entry.setting


def read_tables(settings: Settings, topics: Collection[str]) -> TableRules:
    """Read ``iceberg.tables`` and all settings by table; ``topics``: those that a table may name, empty for any."""
    names = _read_names(settings)
    keys: dict[str, dict[str, str]] = {}
    for key, entry in settings.entries.items():
        if entry.suffix and (found := _table_of(entry, key)) is not None:
            keys.setdefault(found[0], {})[found[1]] = key
    _check_tables(settings, names, keys)
    reader = _Reader(settings, topics)
    given = {name: key for name, key in _DEFAULTS.items() if settings.given(key)}
    default = reader.read(given, settings.text, TableSettings())
    text = settings.properties.__getitem__
    known = tuple(
        (table, reader.read(keys[table], text, default) if table in keys else default)
        for table in dict.fromkeys([*names, *keys])
    )
    tables = TableRules(names, known, default)
    _check_topics(settings, tables, topics)
    return tables


def _check_topics(settings: Settings, tables: TableRules, topics: Collection[str]) -> None:
    """Note topics whose records go to no table of the list: they are read and left out, which may be intended."""
    wanted = [tables.of(table).topics for table in tables.named]
    if not wanted or None in wanted:
        return
    idle = sorted(set(topics) - frozenset().union(*(names for names in wanted if names is not None)))
    if idle:
        settings.warnings.append(
            f"no table of {STATIC} takes the records of {', '.join(idle)[:_SHOWN_CHARACTERS]}: they are read, and filtered; "
            f"name the topic in floe.table.<table>.{TOPICS}, or drop it from topics"
        )


def _read_names(settings: Settings) -> tuple[str, ...]:
    tables = settings.not_empty(STATIC)
    settings.problems.extend(f"{STATIC}: {problem}" for table in tables if (problem := table_problem(table)))
    twice = sorted(table for table, count in Counter(tables).items() if count > 1)
    settings.problems.extend(f"{STATIC} names {table[:300]!r} twice: keep one" for table in twice)
    return tuple(dict.fromkeys(tables))


def _check_tables(settings: Settings, names: tuple[str, ...], keys: Mapping[str, Mapping[str, str]]) -> None:
    """Note keys about tables that do not exist in the connector, or cannot exist."""
    known, shown = set(names), ", ".join(names)[:_SHOWN_CHARACTERS]
    for table, of_table in keys.items():
        if names and table not in known:
            problem = f"is about a table that {STATIC} does not name: it names {shown}"
        elif not names and (wrong := table_problem(table)):
            problem = wrong
        else:
            continue
        settings.problems.extend(f"{key[:_SHOWN_CHARACTERS]}: {problem}" for key in of_table.values())


class _Wrong(NamedTuple):
    """The problem of a text."""

    problem: str


_UNREAD = _Wrong(f"was not looked at, after {MAX_SHOWN_PROBLEMS} wrong ones")


class _Reader:
    def __init__(self, settings: Settings, topics: Collection[str]) -> None:
        self._settings = settings
        self._topics = frozenset(topics)
        self._shown = ", ".join(topics)[:_SHOWN_CHARACTERS]
        self._parse: Mapping[str, tuple[str, Callable[[str], object]]] = {
            BRANCH: ("branch", _branch),
            PARTITION_BY: ("partition_by", parse_partition_by),
            ID_COLUMNS: ("id_columns", _columns),
            SORT_BY: ("sort_by", parse_sort_by),
            REGEX: ("route_regex", _regex),
            TOPICS: ("topics", self._some_topics),
        }
        self._wrong = 0
        # many tables have the same
        self._parsed: dict[tuple[str, str], object] = {}
        self._made: dict[frozenset[tuple[str, str]], TableSettings] = {}

    def read(self, keys: Mapping[str, str], text_of: Callable[[str], str], base: TableSettings) -> TableSettings:
        """Read one table's settings over those for all tables; ``keys``: the key of each setting, by its name."""
        texts = {name: text_of(key) for name, key in keys.items()}
        signature = frozenset(texts.items())
        made = self._made.get(signature)
        if made is None:
            parsed = {name: self._parsed_once(name, text) for name, text in texts.items()}
            wrong = {name: value for name, value in parsed.items() if isinstance(value, _Wrong)}
            self._settings.problems += [
                f"{keys[name][:_SHOWN_CHARACTERS]}: {one.problem}" for name, one in wrong.items()
            ]
            given: dict[str, Any] = {self._parse[name][0]: value for name, value in parsed.items() if name not in wrong}
            made = TableSettings(**{**vars(base), **given}) if given else base
            if not wrong:
                self._made[signature] = made
        return made

    def _parsed_once(self, name: str, text: str) -> object:
        if (name, text) not in self._parsed:
            try:
                self._parsed[name, text] = self._parse[name][1](text) if self._wrong < MAX_SHOWN_PROBLEMS else _UNREAD
            except ValueError as error:
                self._parsed[name, text] = _Wrong(str(error))
                self._wrong += 1
        return self._parsed[name, text]

    def _some_topics(self, text: str) -> frozenset[str]:
        topics = parse_list(text)
        for topic in topics:
            if problem := topic_problem(topic):
                raise ValueError(problem)
            if self._topics and topic not in self._topics:
                msg = (
                    f"{topic!r} is not among the connector's topics ({self._shown}): correct the name, or add it there"
                )
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
    if len(set(columns)) < len(columns):
        twice = next(column for column, count in Counter(columns).items() if count > 1)
        msg = f"{twice[:100]!r} is named twice: keep one"
        raise ValueError(msg)
    return columns


def _regex(text: str) -> str:
    from floe.config.expressions.java_regex import check_expression

    check_expression(text)
    return text
