"""Structs that are null, with fields that are required: those are null with them in Arrow, and never written.

Parquet's writer refuses a null in a required column, whatever is around it. Making the column optional in the file would
have PyIceberg refuse it, so what is hidden gives up its nulls.
"""

from __future__ import annotations

import pyarrow as pa

from floe.parquet.arrow_shapes import nulls


def may_hide(of: pa.DataType, *, nullable: bool) -> bool:
    """Return whether a struct in values of this type may be null and requires a field."""
    if pa.types.is_struct(of):
        return any((nullable and not field.nullable) or may_hide(field.type, nullable=field.nullable) for field in of)
    if pa.types.is_large_list(of):
        return may_hide(of.value_type, nullable=of.value_field.nullable)
    if pa.types.is_map(of):
        return may_hide(of.key_type, nullable=False) or may_hide(of.item_type, nullable=of.item_field.nullable)
    return False


def without_hidden_nulls(array: pa.Array, *, required: bool = False, around: int = 0) -> pa.Array:
    """Leave what is ``required`` without nulls where a struct is null around it. Values stay where they are in memory.

    ``around``: how many of the structs around are null. With more nulls than that, one is not hidden: then all are kept,
    for the writer to refuse.
    """
    of = array.type
    if isinstance(array, pa.ExtensionArray):
        return pa.ExtensionArray.from_storage(of, without_hidden_nulls(array.storage, required=required, around=around))
    is_hidden = required and array.null_count <= around
    if pa.types.is_struct(of):
        inside = array.null_count + around
        columns = [
            without_hidden_nulls(array.field(position), required=not field.nullable, around=inside)
            for position, field in enumerate(of)
        ]
        return pa.StructArray.from_arrays(columns, fields=list(of), mask=None if is_hidden else nulls(array))
    validity, *own = array.buffers()[: of.num_buffers]
    buffers, known = ([None, *own], 0) if is_hidden else ([validity, *own], array.null_count)
    return pa.Array.from_buffers(of, len(array), buffers, known, array.offset, _entries(array))


def _entries(array: pa.Array) -> list[pa.Array]:
    """Return what is inside of a list or a map: a null one has nothing, and hides nothing."""
    of = array.type
    if pa.types.is_large_list(of):
        return [without_hidden_nulls(array.values)]
    if pa.types.is_map(of):
        columns = [without_hidden_nulls(array.keys), without_hidden_nulls(array.items)]
        return [pa.StructArray.from_arrays(columns, fields=[of.key_field, of.item_field])]
    return []
