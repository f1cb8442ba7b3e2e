"""Properties of tables: which of Iceberg's are known, and which values nothing could be written or committed with.

Messages name the property, the value and what is needed. Properties outside Iceberg's own name spaces are free text.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from floe.config.name_set import NameSet

FORMAT_VERSION = "format-version"
FILE_FORMAT: Final = "write.format.default"
NAME_MAPPING = "schema.name-mapping.default"
CODEC: Final = "write.parquet.compression-codec"
LEVEL: Final = "write.parquet.compression-level"

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
FOR_OTHERS: Mapping[str, int | None] = {
    LEVEL: None,
    "commit.retry.max-wait-ms": 0,
    "commit.retry.min-wait-ms": 0,
    "commit.retry.num-retries": 0,
    "commit.retry.total-timeout-ms": 0,
    "commit.status-check.max-wait-ms": 0,
    "commit.status-check.min-wait-ms": 0,
    "commit.status-check.num-retries": 0,
    "commit.status-check.total-timeout-ms": 0,
    "read.parquet.vectorization.batch-size": 1,
    "read.split.metadata-target-size": 1,
    "read.split.open-file-cost": 0,
    "read.split.planning-lookback": 1,
    "read.split.target-size": 1,
    "write.avro.compression-level": None,
    "write.delete.parquet.row-group-size-bytes": 1,
    "write.delete.target-file-size-bytes": 1,
    "write.metadata.metrics.max-inferred-column-defaults": 0,
    "write.parquet.bloom-filter-max-bytes": 1,
    "write.parquet.row-group-check-max-record-count": 1,
    "write.parquet.row-group-check-min-record-count": 1,
    "write.spark.advisory-partition-size-bytes": 1,
}
"""Whole numbers, and the least of each; None for any. The last are read by other engines, or by the codec."""

FLAGS_IN_COMMITS = NameSet(("commit.manifest-merge.enabled", "write.metadata.delete-after-commit.enabled"))
FLAGS_IN_FILES = NameSet(
    (
        "gc.enabled",
        "read.parquet.vectorization.enabled",
        "read.split.adaptive-size.enabled",
        "write.object-storage.enabled",
        "write.object-storage.partitioned-paths",
        "write.parquet.bloom-filter-enabled.column.*",
        "write.parquet.shred-variants",
        "write.parquet.stats-enabled.column.*",
        "write.spark.accept-any-schema",
        "write.spark.fanout.enabled",
        "write.wap.enabled",
    )
)

_CODECS = ("zstd", "gzip", "brotli", "lz4", "snappy", "uncompressed")
_MODES, _LEVELS = ("copy-on-write", "merge-on-read"), ("serializable", "snapshot")
_DISTRIBUTIONS = ("none", "hash", "range")
CHOICES_IN_FILES: Mapping[str, tuple[str, ...]] = {
    CODEC: _CODECS,
    "write.delete.distribution-mode": _DISTRIBUTIONS,
    "write.delete.format.default": ("parquet", "avro", "orc", "puffin"),
    "write.delete.granularity": ("partition", "file"),
    "write.delete.isolation-level": _LEVELS,
    "write.delete.mode": _MODES,
    "write.delete.parquet.compression-codec": _CODECS,
    "write.distribution-mode": _DISTRIBUTIONS,
    "write.merge.distribution-mode": _DISTRIBUTIONS,
    "write.merge.isolation-level": _LEVELS,
    "write.merge.mode": _MODES,
    "write.metadata.compression-codec": ("none", "gzip"),
    "write.parquet.page-version": ("v1", "v2"),
    "write.update.distribution-mode": _DISTRIBUTIONS,
    "write.update.isolation-level": _LEVELS,
    "write.update.mode": _MODES,
}
CHOICES_IN_COMMITS: Mapping[str, tuple[str, ...]] = {
    # of manifests; PyIceberg does not know Iceberg's "uncompressed"
    "write.avro.compression-codec": ("gzip", "zstd", "snappy"),
}

METRICS = ("write.metadata.metrics.default", "write.metadata.metrics.column.*")
_METRICS = NameSet(METRICS)

LIVE_WRITE_PROPERTIES = (
    *IN_FILES,
    "write.distribution-mode",
    FILE_FORMAT,
    *METRICS,
    "write.metadata.metrics.max-inferred-column-defaults",
    "write.parquet.bloom-filter-enabled.column.*",
    "write.parquet.bloom-filter-max-bytes",
    CODEC,
    LEVEL,
)
"""What a run may set of the writer: sizes, codecs, metrics. None of it moves a file or names code."""

KNOWN_PROPERTIES = tuple(
    sorted(
        {
            *IN_FILES,
            *IN_COMMITS,
            *IN_EXPIRY,
            *FOR_OTHERS,
            *FLAGS_IN_COMMITS,
            *FLAGS_IN_FILES,
            *CHOICES_IN_FILES,
            *CHOICES_IN_COMMITS,
            *METRICS,
            FILE_FORMAT,
            FORMAT_VERSION,
            NAME_MAPPING,
            "write.parquet.bloom-filter-fpp.column.*",
            "write.parquet.bloom-filter-ndv.column.*",
        }
    )
)
"""Every property of Iceberg's own name spaces that a connector may set."""

_PLACES = ("write.data.path", "write.metadata.path", "write.folder-storage.path", "write.object-storage.path")
_ICEBERGS = re.compile(
    r"(write|commit|history|read|gc|schema|format-version|floe|kafka\.connect|encryption|compatibility|engine)(\..*)?",
    re.DOTALL,
)
_STORES = re.compile(r"(s3|gcs|adls|hdfs|hf|oss|client|header)\..+|auth\.manager|token|uri|warehouse", re.DOTALL)
"""What PyIceberg's FileIO would read of a table's properties."""

_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,19}\s*")
_FLAG = re.compile(r"y|yes|t|true|on|1|n|no|f|false|off|0", re.IGNORECASE)  # what PyIceberg reads
_METRICS_MODE = re.compile(r"none|counts|full|truncate\(0*[1-9][0-9]{0,8}\)", re.IGNORECASE)
_SHOWN_CHARACTERS = 100


def is_icebergs(name: str) -> bool:
    """Whether a property is in a name space of Iceberg's or floe's, where it means something; others are free text."""
    return bool(_ICEBERGS.fullmatch(name))


def is_of_store(name: str) -> bool:
    """Whether PyIceberg would take a table's property for how its store is reached or logged in to."""
    return bool(_STORES.fullmatch(name))


def misplaced(properties: Mapping[str, str]) -> Iterator[str]:
    """Say which properties a connector does not set: places of files, classes, the store's settings."""
    for name in properties:
        if name in _PLACES:
            yield (
                f"{name}: a connector does not say where files are, as all its tables would share the folder. Remove it, or "
                "set it on the table itself"
            )
        elif name == "py-io-impl" or (name.startswith("write.") and name.endswith(".impl")):
            yield f"{name} names code: only the operator's environment does. Remove it"
        elif is_of_store(name):
            yield f"{name}: a table does not say how its store is reached. Set iceberg.catalog.{name}"


def unusable_for_files(properties: Mapping[str, str]) -> list[str]:
    """Say which values no file could be written, nor table be made, with."""
    problems = [
        *_numbers(properties, {**IN_FILES, **IN_EXPIRY, **FOR_OTHERS}),
        *_flags(properties, FLAGS_IN_FILES),
        *_choices(properties, CHOICES_IN_FILES),
        *_metrics(properties),
    ]
    if properties.get(FILE_FORMAT, "parquet").strip().lower() != "parquet":
        problems.append(_told(properties, FILE_FORMAT, "floe writes parquet only, set that"))
    if properties.get(FORMAT_VERSION, "2").strip() not in ("1", "2"):
        problems.append(_told(properties, FORMAT_VERSION, "floe writes tables of version 1 and 2"))
    if NAME_MAPPING in properties and not _is_list(properties[NAME_MAPPING]):
        problems.append(_told(properties, NAME_MAPPING, "a JSON list of names and field ids is needed"))
    level = whole_number(properties.get(LEVEL, ""))
    if level is not None and properties.get(CODEC, "").strip().lower() == "gzip" and not 0 <= level <= 9:
        problems.append(_told(properties, LEVEL, "gzip has the levels 0 to 9"))
    return problems


def unusable_for_commits(properties: Mapping[str, str]) -> list[str]:
    """Say which values no commit could be made with."""
    return [
        *_numbers(properties, IN_COMMITS),
        *_flags(properties, FLAGS_IN_COMMITS),
        *_choices(properties, CHOICES_IN_COMMITS),
    ]


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


def _flags(properties: Mapping[str, str], names: NameSet) -> Iterator[str]:
    for name in properties:
        if name in names and properties[name] and _FLAG.fullmatch(properties[name]) is None:
            yield _told(properties, name, "true or false is needed")


def _choices(properties: Mapping[str, str], names: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for name, choices in names.items():
        if name in properties and properties[name].strip().lower() not in choices:
            yield _told(properties, name, f"there is {', '.join(choices[:-1])} and {choices[-1]}, set one of them")


def _metrics(properties: Mapping[str, str]) -> Iterator[str]:
    for name in properties:
        if name in _METRICS and _METRICS_MODE.fullmatch(properties[name].strip()) is None:
            yield _told(properties, name, "there is none, counts, full and truncate(n) with n of at least 1")


def _told(properties: Mapping[str, str], name: str, needed: str) -> str:
    return f"{name[:_SHOWN_CHARACTERS]} {properties[name][:_SHOWN_CHARACTERS]!r}: {needed}"


def _is_list(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False
