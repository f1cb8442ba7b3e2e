"""Rules of names. Each function returns the problem, or None.

Names become dag ids, topics, transactional ids and, for tables, paths in the warehouse: PyIceberg joins namespace and
table into a path unchanged.
"""

import re
import unicodedata
from urllib.parse import quote

REPLAY_SUFFIX = ".replay"
STATUS_DAG = "floe.status"
"""The id of floe's own DAG, which no connector may have."""
TABLE_SCHEME = "iceberg://"
ALIAS_PREFIX = "floe."
"""Before the name of a connector, in the name of the alias of all its assets."""

_DAG_ID_CHARACTERS = 250
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_DAG_ID = re.compile(r"[\w.-]+")
_PATH_CHARACTERS = re.compile(r"[/\\?#]|%[0-9A-Fa-f]{2}")
_PART_BYTES = 255
_MAX_PARTS = 50
_SIMPLE_TABLE = re.compile(r"[A-Za-z0-9_-]{1,255}(\.[A-Za-z0-9_-]{1,255}){1,49}")
_PLAIN_CHARACTERS = 1000


def connector_name_problem(name: str) -> str | None:
    """Airflow's rule for dag ids, with room for the replay DAG's suffix."""
    longest = _DAG_ID_CHARACTERS - len(REPLAY_SUFFIX)
    if name and not name.strip("."):
        return f"the name {name[:40]!r} has nothing but dots: names become paths, where it is another folder"
    if not _DAG_ID.fullmatch(name):
        return f"the name {name[:100]!r} is no legal dag_id: use letters, digits, dashes, dots and underscores only"
    if (plain := unicodedata.normalize("NFKC", name)) != name:
        return f"the name {name[:100]!r} has letters that look like others: write {plain[:100]!r}"
    if len(name) > longest:
        return f"the name {name[:40]!r}… has {len(name)} characters: as a dag_id it may have {longest}"
    if name.endswith(REPLAY_SUFFIX):
        return f"the name {name!r} ends in {REPLAY_SUFFIX!r}, which replay DAGs are named by: choose another"
    if name == STATUS_DAG:
        return f"the name {name!r} is the one of floe's own DAG: choose another"
    return None


def legal_name(text: str) -> str:
    """Make a legal connector name from any text, for a file without a name."""
    name = re.sub(r"[^\w.-]", "_", unicodedata.normalize("NFKC", text))[: _DAG_ID_CHARACTERS - len(REPLAY_SUFFIX) - 10]
    name = f"{name}-file" if name == STATUS_DAG else name if name.strip(".") else "_"
    return name.removesuffix(REPLAY_SUFFIX) + "-replay" if name.endswith(REPLAY_SUFFIX) else name


def topic_problem(topic: str) -> str | None:
    """Kafka's rule for topic names."""
    if _TOPIC.fullmatch(topic) and topic not in {".", ".."}:
        return None
    return f"{topic[:300]!r} is no legal topic name: 1 to 249 of letters, digits, '.', '_' and '-'"


def table_problem(table: str) -> str | None:
    """A table is ``namespace.name``, and no part of it may lead out of its folder."""
    if _SIMPLE_TABLE.fullmatch(table):
        return None
    parts = table.split(".", _MAX_PARTS)
    if len(parts) > _MAX_PARTS:
        return f"{table[:300]!r} has more than {_MAX_PARTS} parts: write it as namespace.table"
    if len(parts) < 2:
        return f"{table[:300]!r} names no namespace: write it as namespace.table"
    for part in parts:
        if not part or part != part.strip():
            return f"{table[:300]!r} has a part that is empty or has blanks around it: write it as namespace.table"
        if len(part) > _PART_BYTES or len(part.encode()) > _PART_BYTES:
            return f"{table[:300]!r} has a part of more than {_PART_BYTES} bytes: names become paths"
        if _PATH_CHARACTERS.search(part) or has_control_characters(part):
            return (
                f"{table[:300]!r} has a slash, a backslash, ?, #, a %-code or a control character: names become paths"
            )
    return None


def table_uri(catalog: str, table: str) -> str:
    """Name a table outside of its catalog, as an asset of Airflow and in lineage: ``iceberg://catalog/namespace/table``.

    Characters that mean something in a URI are %-coded, so that Airflow leaves the URI as it is.
    """
    namespace, _, name = table.rpartition(".")
    return f"{TABLE_SCHEME}{'/'.join(quote(part, safe='') for part in (catalog, namespace, name))}"


def plain_problem(text: str) -> str | None:
    """A name that goes into properties and Kafka: some text, no blanks around it, no control characters."""
    if not text:
        return "must not be empty: give a name or remove the key"
    if len(text) > _PLAIN_CHARACTERS:
        return f"has {len(text)} characters, from {text[:40]!r} on: write at most {_PLAIN_CHARACTERS}"
    if text != text.strip() or has_control_characters(text):
        return f"has blanks around it or control characters: {text[:300]!r}; write the bare name"
    return None


def has_control_characters(text: str) -> bool:
    """Whether ``text`` contains invisible characters: controls, line ends, direction marks."""
    if text.isascii():
        return not text.isprintable()
    return any(unicodedata.category(character) in {"Cc", "Cf", "Zl", "Zp"} for character in text)
