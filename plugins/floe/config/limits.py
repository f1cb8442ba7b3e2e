"""Size limits of one connector, so that no file delays the parsing of the others.

Airflow stops parsing a DAG file after half a minute, with the DAGs of all connectors in it. Values that cost more than
one read per key are counted before they are parsed.
"""

from floe.config.document import MAX_KEYS
from floe.config.exceptions import ConfigError
from floe.config.expressions.java_regex import is_plain
from floe.config.keys.key import Kind
from floe.config.keys.reader import Settings
from floe.config.keys.table import KEYS

MAX_LIST_ELEMENTS = 10_000
"""Topics, tables, columns: in all lists of a connector together."""

MAX_EXPRESSION_CHARACTERS = 10_000
"""Characters of all expressions, partitions and sort orders together; one has at most 4,000. Plain words are not counted."""

MAX_TRANSFORMS = 100

_LISTS = frozenset(entry.name for entry in KEYS if entry.kind is Kind.LIST)
_WITH_GRAMMAR = frozenset(entry.name for entry in KEYS if entry.name.endswith(("regex", "partition-by", "sort-by")))


def check_limits(settings: Settings) -> None:
    """Refuse a connector that exceeds a limit, before it is parsed.

    :raises ConfigError: with every limit that is exceeded.
    """
    elements = characters = 0
    for key, entry in settings.entries.items():
        if entry.name in _LISTS:
            elements += settings.properties[key].count(",") + 1
        elif entry.name in _WITH_GRAMMAR and not is_plain(settings.properties[key]):
            characters += len(settings.properties[key])
    transforms = settings.properties.get("transforms", "").count(",") + 1
    counted = (
        (elements, MAX_LIST_ELEMENTS, "elements in its lists"),
        (characters, MAX_EXPRESSION_CHARACTERS, "characters in expressions, partitions and sort orders"),
        (transforms, MAX_TRANSFORMS, "transforms"),
    )
    problems = [_problem(count, limit, what) for count, limit, what in counted if count > limit]
    if problems:
        raise ConfigError(*problems)


def check_count(keys: int) -> None:
    """Refuse a connector with too many keys, before anything is asked of each of them.

    :raises ConfigError: there are too many.
    """
    if keys > MAX_KEYS:
        raise ConfigError(_problem(keys, MAX_KEYS, "keys"))


def _problem(count: int, limit: int, what: str) -> str:
    return f"this connector has {count} {what}: one may have {limit}; divide it into several connectors"
