"""Rows of a file in the table's schema, with the nulls that PyIceberg's projection loses: a list or a map of structs that
is null comes back empty from it, and nested lists lose fields that were renamed.
"""

from typing import Any

import pyarrow as pa
from pyiceberg.io import pyarrow as engine
from pyiceberg.types import ListType, MapType

_LISTS = (pa.ListArray, pa.LargeListArray)


class NullKeeping(engine.ArrowProjectionVisitor):
    """Takes offsets and nulls of lists and maps from the file as they are, and puts projected children below."""

    def list(self, list_type: ListType, list_array: Any, value_array: Any) -> Any:
        if not isinstance(list_array, _LISTS) or value_array is None or not pa.types.is_nested(value_array.type):
            return super().list(list_type, list_array, value_array)
        element = self._construct_field(list_type.element_field, value_array.type)
        is_large = isinstance(list_array, pa.LargeListArray)
        return _over(list_array, pa.large_list(element) if is_large else pa.list_(element), value_array)

    def map(self, map_type: MapType, map_array: Any, key_result: Any, value_result: Any) -> Any:
        nested = [one for one in (key_result, value_result) if one is not None and pa.types.is_nested(one.type)]
        if not isinstance(map_array, pa.MapArray) or key_result is None or value_result is None or not nested:
            return super().map(map_type, map_array, key_result, value_result)
        keys = self._cast_if_needed(map_type.key_field, key_result)
        values = self._cast_if_needed(map_type.value_field, value_result)
        kind = pa.map_(
            self._construct_field(map_type.key_field, keys.type),
            self._construct_field(map_type.value_field, values.type),
        )
        entries = pa.StructArray.from_arrays([keys, values], fields=[kind.key_field, kind.item_field])
        return _over(map_array, kind, entries)


def keep_nulls() -> None:
    """Let this process project by :class:`NullKeeping`: PyIceberg reads files by a function that takes no visitor."""
    engine.ArrowProjectionVisitor = NullKeeping  # type: ignore[misc]


def _over(array: Any, kind: pa.DataType, child: pa.Array) -> pa.Array:
    """Put another child below the offsets and nulls of a list or a map."""
    return pa.Array.from_buffers(kind, len(array), array.buffers()[:2], offset=array.offset, children=[child])
