"""Properties of tables that are read as numbers, flags or a version by what writes and commits: what is wrong with one.

Others pass as they are. Messages name the property, the value and what is needed.
"""

import json
import re
from collections.abc import Iterator, Mapping

FORMAT_VERSION = "format-version"
NAME_MAPPING = "schema.name-mapping.default"

IN_FILES: Mapping[str, int | None] = {
    "write.target-file-size-bytes": 1,
    "write.parquet.row-group-size-bytes": 1,
    "write.parquet.row-group-limit": 1,
    "write.parquet.page-size-bytes": 1,
    "write.parquet.page-row-limit": 1,
    "write.parquet.dict-size-bytes": 1,
}
IN_COMMITS: Mapping[str, int | None] = {
    "commit.manifest.min-count-to-merge": None,
    "commit.manifest.target-size-bytes": None,
    "write.metadata.previous-versions-max": None,
    "write.summary.partition-limit": None,
}
IN_EXPIRY: Mapping[str, int | None] = {
    "history.expire.max-snapshot-age-ms": 0,
    "history.expire.min-snapshots-to-keep": 1,
    "history.expire.max-ref-age-ms": 1,
    "floe.expire.max-snapshots": 0,
}
"""Whole numbers, and the least of each; None for any."""

FLAGS_IN_COMMITS = ("commit.manifest-merge.enabled", "write.metadata.delete-after-commit.enabled")
FLAGS_IN_FILES = ("write.object-storage.enabled", "write.object-storage.partitioned-paths")

LIVE_WRITE_PROPERTIES = (
    *IN_FILES,
    "write.distribution-mode",
    "write.format.default",
    "write.metadata.metrics.column.*",
    "write.metadata.metrics.default",
    "write.metadata.metrics.max-inferred-column-defaults",
    "write.parquet.bloom-filter-enabled.column.*",
    "write.parquet.bloom-filter-max-bytes",
    "write.parquet.compression-codec",
    "write.parquet.compression-level",
)
"""What a run may set of the writer: sizes, codecs, metrics. None of it moves a file or names code."""

_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,19}\s*")
_FLAG = re.compile(r"y|yes|t|true|on|1|n|no|f|false|off|0", re.IGNORECASE)  # what PyIceberg reads
_SHOWN_CHARACTERS = 100


def unusable_for_files(properties: Mapping[str, str]) -> list[str]:
    """Say which values no file could be written, nor table be made, with."""
    problems = [*_numbers(properties, {**IN_FILES, **IN_EXPIRY}), *_flags(properties, FLAGS_IN_FILES)]
    if properties.get(FORMAT_VERSION, "2").strip() not in ("1", "2"):
        problems.append(_told(properties, FORMAT_VERSION, "floe writes tables of version 1 and 2"))
    if NAME_MAPPING in properties and not _is_list(properties[NAME_MAPPING]):
        problems.append(_told(properties, NAME_MAPPING, "a JSON list of names and field ids is needed"))
    return problems


def unusable_for_commits(properties: Mapping[str, str]) -> list[str]:
    """Say which values no commit could be made with."""
    return [*_numbers(properties, IN_COMMITS), *_flags(properties, FLAGS_IN_COMMITS)]


def whole_number(text: str, least: int | None = None) -> int | None:
    """Read a whole number as Java writes one; None for anything else, and for one below ``least``."""
    value = int(text) if _WHOLE.fullmatch(text) else None
    return None if value is None or (least is not None and value < least) else value


def _numbers(properties: Mapping[str, str], names: Mapping[str, int | None]) -> Iterator[str]:
    for name, least in names.items():
        text = properties.get(name, "")
        if not text:
            continue  # which is as if it were not set
        if whole_number(text, least) is None:
            wanted = "a whole number" if least is None else f"a whole number of at least {least}"
            yield _told(properties, name, f"{wanted} is needed")


def _flags(properties: Mapping[str, str], names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        if properties.get(name) and _FLAG.fullmatch(properties[name]) is None:
            yield _told(properties, name, "true or false is needed")


def _told(properties: Mapping[str, str], name: str, needed: str) -> str:
    return f"{name} {properties[name][:_SHOWN_CHARACTERS]!r}: {needed}"


def _is_list(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False
