"""Arrow arrays in the shape that an Iceberg schema asks for."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def storage_type(target: pa.DataType) -> pa.DataType:
    """Return the type to build arrays in from Python values: the target's without extension types."""
    if isinstance(target, pa.BaseExtensionType):
        return target.storage_type
    if pa.types.is_struct(target):
        return pa.struct([_storage_field(target.field(position)) for position in range(target.num_fields)])
    if pa.types.is_large_list(target):
        return pa.large_list(_storage_field(target.value_field))
    if pa.types.is_map(target):
        return pa.map_(_storage_field(target.key_field), _storage_field(target.item_field))
    return target


def _storage_field(field: pa.Field) -> pa.Field:
    return field.with_type(storage_type(field.type))


def reshape(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Give an array of large lists the target type: fields by name, others dropped, field ids carried.

    Only shapes change; primitive values are cast without loss or raise ``pyarrow.ArrowInvalid``.
    """
    if isinstance(target, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(target, array)
    if pa.types.is_struct(target):
        return _reshape_struct(array, target)
    if pa.types.is_large_list(target):
        return _refilled(array, target, reshape(array.values, target.value_type))
    if pa.types.is_map(target):
        keys, items = reshape(array.keys, target.key_type), reshape(array.items, target.item_type)
        return _refilled(array, target, _entries(keys, items, target))
    return array if array.type.equals(target) else array.cast(target)


def _reshape_struct(array: pa.Array, target: pa.DataType) -> pa.Array:
    fields = list(target)
    children = [reshape(array.field(field.name), field.type) for field in fields]
    return pa.StructArray.from_arrays(children, fields=fields, mask=nulls(array))


def nulls(array: pa.Array) -> pa.Array | None:
    """Return where the array is null, as ``mask`` arguments want it; None where it never is."""
    return pc.is_null(array) if array.null_count else None


def rename(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Give an array the field names of ``target``, which has the same shape."""
    if array.type.equals(target):
        return array
    if pa.types.is_struct(target):
        fields = list(target)
        children = [rename(array.field(position), field.type) for position, field in enumerate(fields)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=nulls(array))
    if pa.types.is_large_list(target):
        return _refilled(array, target, rename(array.values, target.value_type))
    keys, items = rename(array.keys, target.key_type), rename(array.items, target.item_type)
    return _refilled(array, target, _entries(keys, items, target))


def _entries(keys: pa.Array, items: pa.Array, target: pa.DataType) -> pa.StructArray:
    return pa.StructArray.from_arrays([keys, items], fields=[target.key_field, target.item_field])


def _refilled(array: pa.Array, target: pa.DataType, values: pa.Array) -> pa.Array:
    """Put other values, as many, into lists or maps: ``from_arrays`` takes no slice that has nulls."""
    own = array.buffers()[: target.num_buffers]
    return pa.Array.from_buffers(target, len(array), own, array.null_count, array.offset, [values])


# Structs that are null, with fields that are required: those are null with them in Arrow, and never written.
#
# Parquet's writer refuses a null in a required column, whatever is around it. Making the column optional in the file
# would have PyIceberg refuse it, so what is hidden gives up its nulls.


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
    return pa.Array.from_buffers(of, len(array), buffers, known, array.offset, _children(array))


def _children(array: pa.Array) -> list[pa.Array]:
    """Return what is inside of a list or a map: a null one has nothing, and hides nothing."""
    of = array.type
    if pa.types.is_large_list(of):
        return [without_hidden_nulls(array.values)]
    if pa.types.is_map(of):
        columns = [without_hidden_nulls(array.keys), without_hidden_nulls(array.items)]
        return [pa.StructArray.from_arrays(columns, fields=[of.key_field, of.item_field])]
    return []
