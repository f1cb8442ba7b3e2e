"""Known properties of Iceberg's tables, by the type of their values. All others in its name spaces are refused."""

from collections.abc import Mapping
from typing import Final

from floe.config.keys.spelling import NameSet

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
"""Whole numbers, and the minimum of each; None for any. Other engines, or the codec, read the last ones."""

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
    "write.avro.compression-codec": ("gzip", "zstd", "snappy", "uncompressed"),  # of manifests
}

METRICS = ("write.metadata.metrics.default", "write.metadata.metrics.column.*")

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
"""The writer's settings that a run may set: sizes, codecs, metrics. None of them moves a file or names code."""

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
