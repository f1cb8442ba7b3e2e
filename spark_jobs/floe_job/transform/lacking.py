"""What a table lacks of columns that are known beforehand."""

from __future__ import annotations

from collections.abc import Iterator

from pyiceberg.types import IcebergType, ListType, StructType

from floe_job.infer import ListOf, Proposal, StructOf
from floe_job.needs import Path

ELEMENT = "element"


def lacking(known: IcebergType, wanted: Proposal, path: Path = ()) -> Iterator[tuple[Path, Proposal]]:
    """Yield what is missing inside a column; one of another kind than the proposal stays as it is."""
    if isinstance(known, StructType) and isinstance(wanted, StructOf):
        fields = {field.name: field.field_type for field in known.fields}
        for name, proposal in wanted.fields:
            if name in fields:
                yield from lacking(fields[name], proposal, (*path, name))
            else:
                yield (*path, name), proposal
    elif isinstance(known, ListType) and isinstance(wanted, ListOf):
        yield from lacking(known.element_type, wanted.element, (*path, ELEMENT))
