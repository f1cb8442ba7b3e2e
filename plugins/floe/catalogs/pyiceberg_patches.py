"""Doubles in manifests: PyIceberg's compiled decoder returns them with the precision of a float.

So ``12.34`` of a partition would become ``12.34000015258789`` wherever a manifest is written anew, and files of such
partitions would not be found when they are looked for.
"""

import struct
from typing import Any

import pyarrow as pa
from pyiceberg.avro.decoder import BinaryDecoder
from pyiceberg.avro.reader import DoubleReader
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


_DOUBLE = struct.Struct("<d")


def read_doubles_whole() -> None:
    """Let this process read doubles of Avro files with all of their eight bytes."""
    DoubleReader.read = _WholeDoubleReader.read  # type: ignore[assignment]


class _WholeDoubleReader(DoubleReader):
    def read(self, decoder: BinaryDecoder) -> float:
        value: float = _DOUBLE.unpack(decoder.read(_DOUBLE.size))[0]
        return value
