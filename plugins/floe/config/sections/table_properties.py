"""Properties of tables: which of Iceberg's are known, and which values would make writing or committing fail.

Messages name the property, the value and what is needed. Properties outside Iceberg's own name spaces are free text.
"""

import json
import re
from collections.abc import Iterator, Mapping

from floe.config.keys.loaded_code import TABLE
from floe.config.keys.other_names import of_property
from floe.config.keys.spelling import NameSet, spelled_as
from floe.config.libraries.library_settings import TABLE_NAMES
from floe.config.libraries.table_property_names import (
    CHOICES_IN_COMMITS,
    CHOICES_IN_FILES,
    CODEC,
    FILE_FORMAT,
    FLAGS_IN_COMMITS,
    FLAGS_IN_FILES,
    FOR_OTHERS,
    FORMAT_VERSION,
    IN_COMMITS,
    IN_EXPIRY,
    IN_FILES,
    LEVEL,
    METRICS,
    NAME_MAPPING,
)

SHIPPED_RETENTION: Mapping[str, str] = {
    "history.expire.max-snapshot-age-ms": "432000000",
    "history.expire.min-snapshots-to-keep": "20",
    "floe.expire.max-snapshots": "100",
}
"""Snapshot retention of tables that floe creates: Iceberg's five days, at least the last 20, at most 100."""


_METRICS = NameSet(METRICS)

_LEAST_OF_RUNS: Mapping[str, int] = {
    "write.target-file-size-bytes": 1 << 20,
    "write.parquet.row-group-size-bytes": 1 << 16,
    "write.parquet.row-group-limit": 1_000,
    "write.parquet.page-size-bytes": 1 << 10,
    "write.parquet.page-row-limit": 100,
    "write.parquet.dict-size-bytes": 1 << 10,
}
_CODECS_OF_RUNS = ("zstd", "gzip", "snappy", "uncompressed")
"""Codecs that every reader of Iceberg has; Java's needs further libraries for others."""

_PLACES = ("write.data.path", "write.metadata.path", "write.folder-storage.path", "write.object-storage.path")
_ICEBERGS = re.compile(
    r"(write|commit|history|read|gc|schema|format-version|floe|kafka\.connect|encryption|compatibility|engine)(\..*)?",
    re.DOTALL,
)
_STORES = re.compile(r"(s3|gcs|adls|hdfs|hf|oss|client|header)\..+|auth\.manager|token|uri|warehouse", re.DOTALL)
"""Table properties that PyIceberg's FileIO would read."""

_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,19}\s*")
_FLAG = re.compile(r"y|yes|t|true|on|1|n|no|f|false|off|0", re.IGNORECASE)  # what PyIceberg reads
_METRICS_MODE = re.compile(r"none|counts|full|truncate\(0*[1-9][0-9]{0,8}\)", re.IGNORECASE)
_SHOWN_CHARACTERS = 100


def is_icebergs(name: str) -> bool:
    """Whether a property is in a name space of Iceberg or floe, where it has a meaning; others are free text."""
    return bool(_ICEBERGS.fullmatch(name))


def is_meant_for_iceberg(name: str) -> bool:
    """Whether a property outside of these name spaces is a spelling of one of Iceberg's, or what others call it."""
    return of_property(name) is not None or spelled_as(name, tuple(TABLE_NAMES)) is not None


def property_advice(prefix: str, name: str) -> str:
    """Return what to do with a property that others have; empty if that is not known. ``prefix``: of the connector's keys."""
    meant = of_property(name) or ""
    if meant.startswith(("iceberg.", "floe.")):
        return f"set {meant}"
    return f"set {prefix}{meant}" if meant else ""


def is_of_store(name: str) -> bool:
    """Whether PyIceberg would read a table's property as the address or login of its store."""
    return bool(_STORES.fullmatch(name))


def misplaced(properties: Mapping[str, str]) -> Iterator[str]:
    """Yield the properties that a connector may not set: locations of files, classes, the store's settings."""
    for name in properties:
        if name in _PLACES:
            yield (
                f"{name}: a connector does not say where files are, as all its tables would share the folder. Remove it, or "
                "set it on the table itself"
            )
        elif TABLE.names(name):
            yield f"{name} names code: only the operator's environment does. Remove it"
        elif is_of_store(name):
            yield f"{name}: a table does not say how its store is reached. Set iceberg.catalog.{name}"


def unusable_for_files(properties: Mapping[str, str]) -> list[str]:
    """Return the values with which files cannot be written or tables created."""
    problems = [
        *_numbers(properties, {**IN_FILES, **IN_EXPIRY, **FOR_OTHERS}),
        *_flags(properties, FLAGS_IN_FILES),
        *_choices(properties, CHOICES_IN_FILES),
        *_metrics(properties),
    ]
    if properties.get(FILE_FORMAT, "parquet").strip().lower() != "parquet":
        problems.append(_problem(properties, FILE_FORMAT, "floe writes parquet only, set that"))
    if properties.get(FORMAT_VERSION, "2").strip() not in ("1", "2"):
        problems.append(_problem(properties, FORMAT_VERSION, "floe writes tables of version 1 and 2"))
    if NAME_MAPPING in properties and not _is_list(properties[NAME_MAPPING]):
        problems.append(_problem(properties, NAME_MAPPING, "a JSON list of names and field ids is needed"))
    level = whole_number(properties.get(LEVEL, ""))
    if level is not None and properties.get(CODEC, "").strip().lower() == "gzip" and not 0 <= level <= 9:
        problems.append(_problem(properties, LEVEL, "gzip has the levels 0 to 9"))
    return problems


def unusable_for_commits(properties: Mapping[str, str]) -> list[str]:
    """Return the values with which commits cannot be made."""
    return [
        *_numbers(properties, IN_COMMITS),
        *_flags(properties, FLAGS_IN_COMMITS),
        *_choices(properties, CHOICES_IN_COMMITS),
    ]


def run_problem(name: str, value: str) -> str | None:
    """Return why a run may not write with this value, which a connector file may: its files stay in the table."""
    least = _LEAST_OF_RUNS.get(name)
    number = whole_number(value)
    if least is not None and number is not None and number < least:
        return f"{name} {value[:_SHOWN_CHARACTERS]!r}: a run may set {least} and more, as its files stay in the table"
    if name == CODEC and value.strip().lower() not in _CODECS_OF_RUNS:
        return (
            f"{name} {value[:_SHOWN_CHARACTERS]!r}: a run may set {', '.join(_CODECS_OF_RUNS)}, which every reader has"
        )
    return None


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
            yield _problem(properties, name, f"{wanted} is needed")


def _flags(properties: Mapping[str, str], names: NameSet) -> Iterator[str]:
    for name in properties:
        if name in names and properties[name] and _FLAG.fullmatch(properties[name]) is None:
            yield _problem(properties, name, "true or false is needed")


def _choices(properties: Mapping[str, str], names: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for name, choices in names.items():
        if name in properties and properties[name].strip().lower() not in choices:
            yield _problem(properties, name, f"there is {', '.join(choices[:-1])} and {choices[-1]}, set one of them")


def _metrics(properties: Mapping[str, str]) -> Iterator[str]:
    for name in properties:
        if name in _METRICS and _METRICS_MODE.fullmatch(properties[name].strip()) is None:
            yield _problem(properties, name, "there is none, counts, full and truncate(n) with n of at least 1")


def _problem(properties: Mapping[str, str], name: str, needed: str) -> str:
    return f"{name[:_SHOWN_CHARACTERS]} {properties[name][:_SHOWN_CHARACTERS]!r}: {needed}"


def _is_list(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False
