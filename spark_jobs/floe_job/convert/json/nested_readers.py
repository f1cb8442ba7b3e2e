"""How columns that contain columns are read by Arrow's JSON parser, see ``floe_job.convert.json.nested_readers``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BooleanType,
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
)

from floe.parquet.arrow_shapes import nulls, reshape, storage_type
from floe_job.convert.json.framing import Injected, NotExact, Respelled
from floe_job.convert.json.key_aliases import Spellings
from floe_job.exceptions import Unconvertible
from floe_job.schema.evolution import Path, SchemaChanges
from floe_job.schema.proposal import ELEMENT, iceberg_type
from floe_job.types import Converter, Lookup, StructLookup, converter
from floe_job.types.temporal import TIMES, times_of_texts

# How columns without columns inside are read by Arrow's JSON parser, and how the result is converted.
#
# A column reader is the type that the parser gets, and the conversion from there to the column. The conversion either
# returns exactly what ``floe_job.types`` returns for the same values, or raises NotExact.


_NEGATIVE_ZERO = -(2**63)


@dataclass(frozen=True)
class JsonColumnReader:
    """``type`` is for the parser; ``convert_column`` turns its array into the column's."""

    type: pa.DataType
    convert_column: Callable[[pa.Array], pa.Array]


def leaf_reader(target: IcebergType, arrow: pa.DataType) -> JsonColumnReader:
    """Make the reader of a column that has no columns inside."""
    if isinstance(target, DoubleType | FloatType):
        return JsonColumnReader(pa.float64(), _floats(arrow))
    if isinstance(target, BooleanType | IntegerType | LongType | StringType):
        return JsonColumnReader(arrow, _same)
    if isinstance(target, DecimalType):
        return _decimal_reader(target, arrow)
    return JsonColumnReader(pa.large_string(), _texts(target, arrow))


def map_reader(arrow: pa.DataType) -> JsonColumnReader:
    """Make the reader of a map column. It takes nulls only: the parser refuses an object, and the exact path reads it."""

    def convert_column(array: pa.Array) -> pa.Array:
        if array.null_count < len(array):
            raise NotExact(pc.index(pc.is_valid(array), True).as_py())
        return pa.nulls(len(array), arrow)

    return JsonColumnReader(pa.null(), convert_column)


def _same(array: pa.Array) -> pa.Array:
    return array


def _decimal_reader(target: DecimalType, arrow: pa.DataType) -> JsonColumnReader:
    """Make the reader of a decimal column, which refuses values of too many digits.

    The parser counts only the digits of the text: 123.4 has four, and is accepted as a decimal(4,2). Then it rescales the
    value without an overflow check, and a decimal(38,10) may not fit into 128 bits.
    """
    room = pa.decimal256(target.precision, target.scale) if target.precision + target.scale > 38 else arrow
    limit = Decimal(10) ** (target.precision - target.scale)

    def convert_column(array: pa.Array) -> pa.Array:
        least, greatest = pc.min_max(array).as_py().values()
        if least is not None and not -limit < least <= greatest < limit:
            raise NotExact
        return array if room is arrow else array.cast(arrow)

    return JsonColumnReader(room, convert_column)


def _floats(arrow: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    def convert_column(array: pa.Array) -> pa.Array:
        # A negative zero may have been the integer -0, which is 0.0.
        if pc.any(pc.equal(array.view(pa.int64()), _NEGATIVE_ZERO)).as_py():
            raise NotExact
        # By way of a double, as Java does: straight to a float rounds differently.
        floats = array if arrow.equals(array.type) else pc.cast(array, arrow, safe=False)
        if pc.all(pc.is_finite(floats)).as_py() is False:
            raise NotExact
        return floats

    return convert_column


def _texts(target: IcebergType, arrow: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """Convert strings: in bulk where the form is plain, else one by one with the exact path's own converter."""
    convert = converter(target)
    storage = storage_type(arrow)

    def convert_column(array: pa.Array) -> pa.Array:
        if array.null_count == len(array):
            return pa.nulls(len(array), arrow)
        if isinstance(target, TIMES):
            times, left_out = times_of_texts(array, target, arrow)
            if left_out is None:
                return times
        return _one_by_one(array, convert, storage, arrow)

    return convert_column


def _one_by_one(array: pa.Array, convert: Converter, storage: pa.DataType, arrow: pa.DataType) -> pa.Array:
    converted = []
    for row, text in enumerate(array.to_pylist()):
        try:
            converted.append(None if text is None else convert(text))
        except Unconvertible:
            raise NotExact(row) from None
    return reshape(pa.array(converted, storage), arrow)


@dataclass(frozen=True)
class JsonColumn:
    """A column, and the keys that it is read from; none for a column that the record does not fill."""

    name: str
    keys: tuple[str, ...]
    reader: JsonColumnReader
    arrow: pa.DataType
    required: bool = False

    def convert_column(self, array: pa.StructArray) -> pa.Array:
        """Return the column's values, of whichever key has one."""
        if len(self.keys) == 1:
            return self.reader.convert_column(array.field(self.keys[0]))
        if not self.keys:
            return pa.nulls(len(array), self.arrow)
        found = [array.field(key) for key in self.keys]
        found = [child for child in found if child.null_count < len(child)] or found[:1]
        children = [self.reader.convert_column(child) for child in found]
        return children[0] if len(children) == 1 else _either(children)


def _either(children: list[pa.Array]) -> pa.Array:
    """Choose row by row the child that has a value. Raises NotExact where two have one."""
    length = len(children[0])
    rows = pa.array(range(length), pa.int64())
    chosen = pa.nulls(length, pa.int64())
    for number, child in enumerate(children):
        valid = pc.is_valid(child)
        twice = pc.index(pc.and_(valid, pc.is_valid(chosen)), True).as_py()
        if twice >= 0:
            raise NotExact(twice)
        chosen = pc.if_else(valid, pc.add(rows, number * length), chosen)
    return pa.concat_arrays(children).take(chosen)


@dataclass(frozen=True)
class StructReader(JsonColumnReader):
    """Reads a struct; ``check_extras`` checks the fields that are not part of ``type``."""

    check_extras: Callable[[list[pa.Field], Callable[[int], pa.Array]], None]


@dataclass
class ColumnReaders:
    """Makes the readers of a table's columns, and of the columns that are missing.

    ``alternatives`` are the keys of each column that has several. ``dropped``: whether the last batch contained values that
    were not examined.
    """

    lookup: Lookup
    spellings: Spellings
    needs: SchemaChanges
    injected: Injected
    alternatives: list[tuple[str, ...]] = field(default_factory=list)
    dropped: bool = False

    def top(self, schema: Schema) -> StructReader:
        """Make the reader of a table's columns as one struct."""
        return self._struct(schema.as_struct(), pa.struct(list(schema_to_pyarrow(schema))), ())

    def _struct(self, target: StructType, arrow: pa.DataType, path: Path) -> StructReader:
        lookup = self.lookup.of(target)
        present = [
            self._column(
                path,
                lookup,
                column.name,
                self._reader(column.field_type, arrow.field(column.name).type, (*path, column.name)),
                arrow.field(column.name).type,
                column.required,
            )
            for column in target.fields
        ]
        needed = [
            self._needed(path, column)
            for column in self.needs.columns
            if column[:-1] == path and (path or not self.injected.hides(column[-1]))
        ]
        carried = pa.struct(
            [pa.field(key, column.reader.type) for column in (*present, *needed) for key in column.keys]
        )
        check_extras = self._extras(path, lookup, frozenset(f.name for f in carried), [c.name for c in needed])
        fields, known = list(arrow), carried.num_fields

        def convert_column(array: pa.Array) -> pa.Array:
            if array.type.num_fields > known:
                check_extras(list(array.type), array.field)
            missing = nulls(array)
            for column in needed:
                column.convert_column(array)
            children = []
            for column in present:
                child = column.convert_column(array)
                if column.required:
                    _check_no_nulls(child, missing)
                children.append(child)
            return pa.StructArray.from_arrays(children, fields=fields, mask=missing)

        return StructReader(carried, convert_column, check_extras)

    def _column(
        self,
        path: Path,
        lookup: StructLookup,
        name: str,
        reader: JsonColumnReader,
        arrow: pa.DataType,
        required: bool = False,
    ) -> JsonColumn:
        keys = () if not path and name in self.injected.columns else self.spellings.keys(path, lookup, name)
        if len(keys) > 1:
            self.alternatives.append(keys)
        return JsonColumn(name, keys, reader, arrow, required)

    def _needed(self, path: Path, column: Path) -> JsonColumn:
        """Make the reader of a missing column, only to see whether its values need more than is known to be missing."""
        name = column[-1]
        target = iceberg_type(self.needs.columns[column])
        arrow = schema_to_pyarrow(target, include_field_ids=False)
        inside = ColumnReaders(
            self.lookup, self.spellings, SchemaChanges(rules=self.needs.rules), self.injected, self.alternatives
        )
        own = StructLookup({name: name}, frozenset((name,)))
        return self._column(path, own, name, inside._reader(target, arrow, column), arrow)

    def _reader(self, target: IcebergType, arrow: pa.DataType, path: Path) -> JsonColumnReader:
        if isinstance(target, StructType):
            return self._struct(target, arrow, path)
        if isinstance(target, ListType):
            return self._list(target, arrow, path)
        return map_reader(arrow) if isinstance(target, MapType) else leaf_reader(target, arrow)

    def _list(self, target: ListType, arrow: pa.DataType, path: Path) -> JsonColumnReader:
        element = self._reader(target.element_type, arrow.value_type, (*path, ELEMENT))

        def convert_column(array: pa.Array) -> pa.Array:
            if pa.types.is_null(element.type):
                return _nothing(array, arrow)
            values = array.values
            if target.element_required and values.null_count:
                raise NotExact
            offsets = array.offsets.cast(pa.int64())
            return pa.LargeListArray.from_arrays(offsets, element.convert_column(values), type=arrow, mask=nulls(array))

        return JsonColumnReader(pa.list_(pa.field(ELEMENT, element.type)), convert_column)

    def _extras(
        self, path: Path, lookup: StructLookup, known: frozenset[str], needed: list[str]
    ) -> Callable[[list[pa.Field], Callable[[int], pa.Array]], None]:
        """Make the check of unexpected fields.

        The key of a known column is added. A field that is empty (nulls, ``{}``, ``[]``), or means nothing, is ignored; any
        other is left to the exact path. Such columns are examined by type and validity only: Arrow's lists of nothing but
        nulls are broken inside.
        """
        by_same = {self.lookup.same(name): name for name in needed}
        evolve = self.needs.rules.evolve

        def check(fields: list[pa.Field], column: Callable[[int], pa.Array]) -> None:
            learnt = False
            for position, unexpected in enumerate(fields):
                key = unexpected.name
                if key in known:
                    continue
                hidden = lookup.is_hidden(key) or (not path and self.injected.hides(key))
                name = None if hidden else lookup.column(key) or by_same.get(self.lookup.same(key))
                if name is not None and self.spellings.learn(path, name, key):
                    learnt = True
                elif name is not None or (evolve and not hidden and not _says_nothing(unexpected.type)):
                    raise NotExact(_first_value(column(position)))
                else:
                    self.dropped = self.dropped or not _says_nothing(unexpected.type)
            if learnt:
                raise Respelled

        return check


def _nothing(array: pa.Array, arrow: pa.DataType) -> pa.Array:
    """Convert lists of maps, of which only nulls are read: Arrow's lists of nothing but nulls are broken inside."""
    if array.null_count < len(array):
        raise NotExact(_first_value(array))
    return pa.nulls(len(array), arrow)


def _first_value(array: pa.Array) -> int | None:
    row: int = pc.index(pc.is_valid(array), True).as_py()
    return row if row >= 0 else None


def _says_nothing(inferred: pa.DataType) -> bool:
    if pa.types.is_struct(inferred):
        return all(_says_nothing(field.type) for field in inferred)
    if pa.types.is_list(inferred):
        return _says_nothing(inferred.value_type)
    return bool(pa.types.is_null(inferred))


def _check_no_nulls(child: pa.Array, missing: pa.Array | None) -> None:
    """Refuse nulls in a required column, other than those of a parent that is null itself."""
    if child.null_count:
        wrong = pc.is_null(child) if missing is None else pc.and_not(pc.is_null(child), missing)
        row = pc.index(wrong, True).as_py()
        if row >= 0:
            raise NotExact(row)
