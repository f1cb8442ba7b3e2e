"""The partition summaries of each manifest in a manifest list, corrected so that every reader finds the files by them.

Iceberg's Java library compares UUIDs as signed (apache/iceberg issue 14216) and takes a summary without bounds for one of
nulls only, so a manifest with partitions of UUIDs has no summaries at all. It takes -0.0 for less than 0.0, too.
"""

from collections.abc import Iterable, Sequence
from typing import TypeGuard

from pyiceberg.manifest import ManifestFile, PartitionFieldSummary
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DoubleType, FloatType, IcebergType, UUIDType

_SIGN = b"\x80"
_PARTITIONS = 13
"""The place of the summaries in PyIceberg's record of a manifest."""


def readable(manifests: Iterable[ManifestFile], metadata: TableMetadata) -> list[ManifestFile]:
    """Correct the summaries of manifests, those of earlier snapshots among them, and return the manifests."""
    specs, schema = metadata.specs(), metadata.schema()
    types = {spec_id: _types(spec, schema) for spec_id, spec in specs.items()}
    found = list(manifests)
    for manifest in found:
        if manifest.partitions and (fields := types.get(manifest.partition_spec_id)):
            manifest[_PARTITIONS] = _corrected(manifest.partitions, fields)
    return found


def _types(spec: PartitionSpec, schema: Schema) -> list[IcebergType | None]:
    """Return the types of the fields that are columns as they are; empty if none of them needs a correction."""
    found: list[IcebergType | None] = []
    for field in spec.fields:
        is_there = (
            isinstance(field.transform, IdentityTransform) and schema.find_column_name(field.source_id) is not None
        )
        found.append(schema.find_type(field.source_id) if is_there else None)
    return found if any(isinstance(of, UUIDType | FloatType | DoubleType) for of in found) else []


def _corrected(
    summaries: Sequence[PartitionFieldSummary], types: Sequence[IcebergType | None]
) -> list[PartitionFieldSummary] | None:
    if any(isinstance(of, UUIDType) for of in types):
        return None
    return [
        _with_both_zeros(summary) if isinstance(of, FloatType | DoubleType) else summary
        for summary, of in zip(summaries, types, strict=True)
    ]


def _with_both_zeros(summary: PartitionFieldSummary) -> PartitionFieldSummary:
    """Make -0.0 of a zero below and 0.0 of a zero above; a column that was promoted may have floats among its doubles."""
    lower, upper = summary.lower_bound, summary.upper_bound
    return PartitionFieldSummary(
        summary.contains_null,
        summary.contains_nan,
        bytes(len(lower) - 1) + _SIGN if _is_zero(lower) else lower,
        bytes(len(upper)) if _is_zero(upper) else upper,
    )


def _is_zero(bound: bytes | None) -> TypeGuard[bytes]:
    """Return whether a bound is -0.0 or 0.0, which differ in the sign of the last byte."""
    return bound is not None and len(bound) > 0 and not any(bound[:-1]) and bound[-1:] in (b"\0", _SIGN)
