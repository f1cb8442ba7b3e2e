"""How each column type travels through Arrow's JSON parser, and what is made of it afterwards.

A carrier is the type that the parser is told, and the step from there to the column. The step either gives exactly what
``floe_job.conform`` gives for the same values, or raises NotExact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)

from floe_job.conform import Converter, converter
from floe_job.conform.moments import FIRST_DAY, FIRST_MICRO, LAST_DAY, LAST_MICRO
from floe_job.decode.arrays import nulls, reshape, storage_type
from floe_job.exceptions import Unconvertible
from floe_job.infer import iceberg_type
from floe_job.needs import Path, SchemaNeeds

_NEGATIVE_ZERO = -(2**63)
_ISO_DATE = r"^\d{4}-\d{2}-\d{2}$"
_ISO_NAIVE = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?Z?$"
_ISO_ZONED = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?[+-](?:0\d|1[0-7]):?[0-5]\d$"


class NotExact(Exception):
    """The columnar result would not, or might not, be the exact path's. ``row`` is a hint at the first such record."""

    def __init__(self, row: int | None = None) -> None:
        super().__init__(row)
        self.row = row


@dataclass(frozen=True)
class Carrier:
    """``type`` is for the parser; ``unload`` turns its array into the column's."""

    type: pa.DataType
    unload: Callable[[pa.Array], pa.Array]


def struct_carrier(target: StructType, arrow: pa.DataType, needs: SchemaNeeds, path: Path = ()) -> Carrier:
    """Carry a struct, or a table's columns as one, and inside it the columns that are needed but not there yet."""
    present = [
        (field, _carrier(field.field_type, arrow.field(field.name).type, needs, (*path, field.name)))
        for field in target.fields
    ]
    needed = [(column[-1], _carrier_of_need(needs, column)) for column in needs.columns if column[:-1] == path]
    carried = [pa.field(field.name, carrier.type) for field, carrier in present]
    carried += [pa.field(name, carrier.type) for name, carrier in needed]
    known = frozenset(field.name for field in carried)
    fields = list(arrow)

    def unload(array: pa.Array) -> pa.Array:
        if array.type.num_fields > len(known):
            refuse_extras(list(array.type), array.field, known)
        missing = nulls(array)
        for name, carrier in needed:
            carrier.unload(array.field(name))
        children = []
        for field, carrier in present:
            child = array.field(field.name)
            if field.required:
                _refuse_nulls(child, missing)
            children.append(carrier.unload(child))
        return pa.StructArray.from_arrays(children, fields=fields, mask=missing)

    return Carrier(pa.struct(carried), unload)


def _carrier_of_need(needs: SchemaNeeds, column: Path) -> Carrier:
    """Carry a needed column, only to see whether its values hold more than is known to be needed."""
    target = iceberg_type(needs.columns[column])
    return _carrier(target, schema_to_pyarrow(target, include_field_ids=False), SchemaNeeds(), column)


def refuse_extras(fields: list[pa.Field], column: Callable[[int], pa.Array], known: frozenset[str]) -> None:
    """Let go what brings no column (nulls, ``{}``, ``[]``); anything else is the exact path's to judge.

    Such columns are looked at by type and validity only: Arrow's lists of nothing but nulls are broken inside.
    """
    for position, field in enumerate(fields):
        if field.name not in known and not _says_nothing(field.type):
            row = pc.index(pc.is_valid(column(position)), True).as_py()
            raise NotExact(row)


def _says_nothing(inferred: pa.DataType) -> bool:
    if pa.types.is_struct(inferred):
        return all(_says_nothing(field.type) for field in inferred)
    if pa.types.is_list(inferred):
        return _says_nothing(inferred.value_type)
    return bool(pa.types.is_null(inferred))


def _refuse_nulls(child: pa.Array, missing: pa.Array | None) -> None:
    """Refuse nulls in a required column, other than those of a parent that is null itself."""
    if child.null_count:
        wrong = pc.is_null(child) if missing is None else pc.and_not(pc.is_null(child), missing)
        row = pc.index(wrong, True).as_py()
        if row >= 0:
            raise NotExact(row)


def _carrier(target: IcebergType, arrow: pa.DataType, needs: SchemaNeeds, path: Path) -> Carrier:
    if isinstance(target, StructType):
        return struct_carrier(target, arrow, needs, path)
    if isinstance(target, ListType):
        return _list_carrier(target, arrow, needs, path)
    if isinstance(target, MapType):
        return _NOT_CARRIED
    if isinstance(target, DoubleType | FloatType):
        return Carrier(pa.float64(), _floats(arrow))
    if isinstance(target, BooleanType | IntegerType | LongType | StringType | DecimalType):
        return Carrier(arrow, _same)
    return Carrier(pa.large_string(), _texts(target, arrow))


def _list_carrier(target: ListType, arrow: pa.DataType, needs: SchemaNeeds, path: Path) -> Carrier:
    element = _carrier(target.element_type, arrow.value_type, needs, (*path, "element"))

    def unload(array: pa.Array) -> pa.Array:
        values = array.values
        if target.element_required and values.null_count:
            raise NotExact
        offsets = array.offsets.cast(pa.int64())
        return pa.LargeListArray.from_arrays(offsets, element.unload(values), type=arrow, mask=nulls(array))

    return Carrier(pa.list_(pa.field("element", element.type)), unload)


def _refuse(array: pa.Array) -> pa.Array:
    """Leave every value that is not null to the exact path."""
    if array.null_count < len(array):
        raise NotExact(pc.index(pc.is_valid(array), True).as_py())
    raise NotExact


# An object under a map column: whatever the parser makes of it, the exact path reads it.
_NOT_CARRIED = Carrier(pa.null(), _refuse)


def _same(array: pa.Array) -> pa.Array:
    return array


def _floats(arrow: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    def unload(array: pa.Array) -> pa.Array:
        # A negative zero may have been the integer -0, which is 0.0.
        if pc.any(pc.equal(array.view(pa.int64()), _NEGATIVE_ZERO)).as_py():
            raise NotExact
        # By way of a double, as Java does: straight to a float rounds differently.
        floats = array if arrow.equals(array.type) else pc.cast(array, arrow, safe=False)
        if pc.all(pc.is_finite(floats)).as_py() is False:
            raise NotExact
        return floats

    return unload


def _texts(target: IcebergType, arrow: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """Convert strings: in bulk where the form is plain, else one by one with the exact path's own converter."""
    convert = converter(target)
    storage = storage_type(arrow)

    def unload(array: pa.Array) -> pa.Array:
        if array.null_count == len(array):
            return pa.nulls(len(array), arrow)
        return _in_bulk(array, target, arrow) or _one_by_one(array, convert, storage, arrow)

    return unload


def _one_by_one(array: pa.Array, convert: Converter, storage: pa.DataType, arrow: pa.DataType) -> pa.Array:
    converted = []
    for row, text in enumerate(array.to_pylist()):
        try:
            converted.append(None if text is None else convert(text))
        except Unconvertible:
            raise NotExact(row) from None
    return reshape(pa.array(converted, storage), arrow)


def _in_bulk(array: pa.Array, target: IcebergType, arrow: pa.DataType) -> pa.Array | None:
    """Parse ISO dates and date-times; None where a form, a day or a year is left to the converter."""
    try:
        if isinstance(target, DateType):
            return _within(_matching(array, _ISO_DATE).cast(arrow), FIRST_DAY, pa.int32())
        if isinstance(target, TimestampType | TimestamptzType):
            return _within(_timestamps(array, target, arrow), FIRST_MICRO, pa.int64())
    except (pa.ArrowInvalid, NotExact):
        pass
    return None


def _timestamps(array: pa.Array, target: IcebergType, arrow: pa.DataType) -> pa.Array:
    if isinstance(target, TimestamptzType) and array[0].is_valid and array[0].as_py()[-1:] != "Z":
        try:
            return _matching(array, _ISO_ZONED).cast(arrow)
        except NotExact:
            pass
    return pc.utf8_rtrim(_matching(array, _ISO_NAIVE), "Z").cast(pa.timestamp("us")).cast(arrow)


def _matching(array: pa.Array, form: str) -> pa.Array:
    if pc.all(pc.match_substring_regex(array, form)).as_py() is False:
        raise NotExact
    return array


def _within(array: pa.Array, first: int, integers: pa.DataType) -> pa.Array:
    least, greatest = pc.min_max(array.view(integers)).as_py().values()
    if least is not None and (least < first or greatest > _LAST[integers]):
        raise NotExact
    return array


_LAST = {pa.int32(): LAST_DAY, pa.int64(): LAST_MICRO}
