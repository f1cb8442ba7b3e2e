"""Names of tables from route values. The rules are strict: producers choose the values, and names become paths."""

from __future__ import annotations

import re
from dataclasses import dataclass

from floe.config.sections.table_template import TOPIC, VALUE, topic_part

MAX_CHARACTERS = 1000
"""Maximum length of a route value; a longer one names no table."""

MAX_PARTS = 6
"""Maximum number of parts in a table's name, namespaces included."""

_PART = re.compile(r"[a-z_][a-z0-9_]{0,127}")
_ONE_PART = re.compile(r"[a-z0-9_]+")
_METADATA_TABLES = frozenset(
    {
        *("all_data_files", "all_delete_files", "all_entries", "all_files", "all_manifests", "changes", "data_files"),
        *("delete_files", "entries", "files", "history", "manifests", "metadata_log_entries", "partitions"),
        *("position_deletes", "refs", "snapshots"),
    }
)


@dataclass(frozen=True)
class Unusable:
    """Why a route value names no table."""

    reason: str


def table_name(template: str, topic: str, value: str) -> str | Unusable:
    """Fill in a template; return the name of a table, in lower case, or why there is none."""
    if not value.isascii():
        return Unusable(f"its route value {value[:60]!r} has characters beyond ASCII")
    lowered = value.lower()
    if VALUE in template and template != VALUE and not _ONE_PART.fullmatch(lowered):
        return Unusable(f"its route value {value[:60]!r} is no part of a name: letters, digits and '_' make one")
    name = template.replace(TOPIC, topic_part(topic)).replace(VALUE, lowered)
    parts = name.split(".")
    if len(parts) > MAX_PARTS:
        return Unusable(f"its route value {value[:60]!r} has {len(parts)} parts, at most {MAX_PARTS} are taken")
    if len(parts) < 2:
        return Unusable(f"its route value {value[:60]!r} names no namespace: namespace.table is needed")
    wrong = next((part for part in parts if not _PART.fullmatch(part)), None)
    if wrong is not None:
        return Unusable(f"{name[:100]!r} is no table's name: {wrong[:60]!r} has other characters than a-z, 0-9 and '_'")
    if len(parts) > 2 and parts[-1] in _METADATA_TABLES:
        return Unusable(f"{name[:100]!r} is the name of a metadata table of {'.'.join(parts[:-1])[:100]!r}")
    return name
