"""Values without a schema into the column types of an Iceberg table; the target type decides.

The rules are those of the Kafka Connect sink, with one difference: a conversion that would lose something (overflow,
2.7 into a long, "yes" into a boolean) is refused. A converter takes a JSON value that is not null and returns what
``pyarrow.array`` takes for the Arrow storage type of the column, or raises ``Unconvertible``:

int, long → int · float, double → float · decimal → Decimal · boolean → bool · string → str · uuid, binary, fixed →
bytes · date → epoch days · time, timestamp, timestamptz → microseconds · list → list · map → pairs · struct → dict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.table.name_mapping import MappedField, NameMapping
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    PrimitiveType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from floe.catalogs.pyiceberg_internals import parents_of
from floe.parquet.exceptions import UnsupportedColumn
from floe_job.exceptions import Unconvertible
from floe_job.types.java_text import binary_column, boolean_column, fixed_column, string_column, uuid_column
from floe_job.types.numbers import decimal_column, double_column, float_column, int_column, long_column, refuse
from floe_job.types.temporal import date_column, time_column, timestamp_column, timestamptz_column

# How the keys of a record find the columns of a table: by exact name, without regard to case, or by name mapping.


@dataclass(frozen=True)
class StructLookup:
    """The keys of one struct, or of the table's top level. ``columns``: column name by key; ``names``: all columns."""

    columns: Mapping[str, str]
    names: frozenset[str]
    fold: bool = False

    @cached_property
    def _folded(self) -> dict[str, str]:
        return {key.lower(): name for key, name in reversed(list(self.columns.items()))}

    @cached_property
    def _keys(self) -> dict[str, tuple[str, ...]]:
        keys: dict[str, list[str]] = {}
        for key, name in self.columns.items():
            keys.setdefault(name, []).append(key)
        return {name: tuple(some) for name, some in keys.items()}

    @cached_property
    def is_plain(self) -> bool:
        """Return whether every key is the column's own name."""
        return not self.fold and all(key == name for key, name in self.columns.items())

    def column(self, key: str) -> str | None:
        """Return the name of the column that a key means. An exact name takes precedence over one in another case."""
        name = self.columns.get(key)
        return self._folded.get(key.lower()) if name is None and self.fold else name

    def keys(self, name: str) -> tuple[str, ...]:
        """Return the keys known beforehand to mean a column."""
        return (name,) if self.is_plain else self._keys.get(name, ())

    def is_hidden(self, key: str) -> bool:
        """Return whether a key means no column although a column has that name: the column is mapped to other names."""
        return key in self.names and self.column(key) is None

    def by_column(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return the values by column name; of two keys for one column the last one counts. Unknown keys are dropped."""
        if self.is_plain:
            return record
        exact, folded = self.columns, self._folded if self.fold else {}
        found = {}
        for key, value in record.items():
            name = exact.get(key)
            if name is None and folded:
                name = folded.get(key.lower())
            if name is not None:
                found[name] = value
        return found


class Lookup:
    """The look-up of a whole table, struct by struct."""

    def __init__(self, *, fold: bool = False, mapping: NameMapping | None = None) -> None:
        """Look up without regard to case if ``fold``; with a name mapping always by exactly its names.

        ``has_choices`` says whether a column can have more than one key.
        """
        self.fold = fold and mapping is None
        self._mapped: dict[int, list[str]] = {}
        self._index(mapping.root if mapping is not None else [])
        self.has_choices = self.fold or any(len(names) > 1 for names in self._mapped.values())

    def _index(self, fields: list[MappedField]) -> None:
        for field in fields:
            if field.field_id is not None and field.names:
                self._mapped[field.field_id] = field.names
            self._index(field.fields)

    def of(self, target: StructType) -> StructLookup:
        """Return the look-up of one struct: a field with mapping names by these, any other by its own name."""
        columns = {
            key: field.name for field in target.fields for key in self._mapped.get(field.field_id, (field.name,))
        }
        return StructLookup(columns, frozenset(field.name for field in target.fields), self.fold)

    def same(self, name: str) -> str:
        """Return what two names of a new column have in common if they mean the same one."""
        return name.lower() if self.fold else name


EXACT = Lookup()


Converter = Callable[[Any], Any]

ELEMENT = "element"


@dataclass(frozen=True)
class Trees:
    """Compiles converters of nested columns.

    ``primitive`` compiles those of leaves. Values that a change of the column would fit are noted in ``promotions``.
    """

    primitive: Callable[[IcebergType], Converter]
    lookup: Lookup
    promotions: PromotionRequests | None = None

    def converter(self, target: IcebergType) -> Converter:
        """Compile the converter of a column type; it is never given a null."""
        if isinstance(target, StructType):
            return self._struct(target)
        if isinstance(target, ListType):
            return self._list(target)
        if isinstance(target, MapType):
            return self._map(target)
        return self.primitive(target)

    def field_converter(self, field: NestedField) -> tuple[str, Converter]:
        """Compile name and converter of one column; the converter takes the values of a struct by column name."""
        name = field.name
        if field.optional and field.field_type.is_primitive:
            return name, self._optional_leaf(name, field)
        convert = self._entry(field)

        def convert_field(record: dict[str, Any]) -> Any:
            try:
                return convert(record.get(name))
            except Unconvertible as error:
                raise error.inside(name) from None

        return name, convert_field

    def _optional_leaf(self, name: str, field: NestedField) -> Converter:
        """Compile the converter of a column that has none inside, in one step, as most are."""
        convert = self.converter(field.field_type)
        promotions, field_id = self.promotions, field.field_id

        def convert_leaf(record: dict[str, Any]) -> Any:
            value = record.get(name)
            if value is None:
                return None
            try:
                return convert(value)
            except Unconvertible as error:
                if error.wider is None or promotions is None:
                    raise error.inside(name) from None
                promotions.promote(field_id, error.wider)
                return None

        return convert_leaf

    def _struct(self, target: StructType) -> Converter:
        fields = dict(self.field_converter(field) for field in target.fields)
        required = [field.name for field in target.fields if field.required]
        lookup = self.lookup.of(target)
        by_column = None if lookup.is_plain else lookup.by_column

        def convert(value: Any) -> dict[str, Any]:
            if not isinstance(value, dict):
                raise refuse(value, "struct")
            record = value if by_column is None else by_column(value)
            row = {name: fields[name](record) for name in record if name in fields}
            for name in required:
                if name not in row:
                    row[name] = fields[name](record)
            return row  # fields that are left out are null; a record may have two of a thousand fields

        return convert

    def _list(self, target: ListType) -> Converter:
        element = self._entry(target.element_field)

        def convert(value: Any) -> list[Any]:
            if not isinstance(value, list):
                raise refuse(value, "list")
            try:
                return [element(entry) for entry in value]
            except Unconvertible as error:
                raise error.inside(ELEMENT) from None

        return convert

    def _map(self, target: MapType) -> Converter:
        # A key is never promoted: Iceberg does not change map keys.
        key = Trees(self.primitive, self.lookup).converter(target.key_type)
        entry = self._entry(target.value_field)
        is_nested = not target.key_type.is_primitive

        def convert(value: Any) -> list[tuple[Any, Any]]:
            if not isinstance(value, dict):
                raise refuse(value, "map")
            converted: dict[Any, Any] = {}
            nested: dict[str, Any] = {}  # a struct or a list is no key of a dict
            for name, item in value.items():
                try:
                    found = key(name)
                    if is_nested:
                        nested[repr(found)], found = found, repr(found)
                    converted[found] = entry(item)
                except Unconvertible as error:
                    raise error.inside(str(name)) from None
            return (
                [(nested[found], item) for found, item in converted.items()] if is_nested else list(converted.items())
            )

        return convert

    def _entry(self, field: NestedField) -> Converter:
        """Compile the converter of a column, an element or a map's value, which may be null."""
        convert = self.converter(field.field_type)
        promotions, field_id = self.promotions, field.field_id
        refused = field.required and (promotions is None or not promotions.may_be_optional(field_id))

        def convert_entry(value: Any) -> Any:
            if value is not None:
                return convert(value)
            if refused:
                problem = "null in a required column"
                raise Unconvertible(problem)
            if field.required and promotions is not None:
                promotions.make_optional(field_id)
            return None

        if promotions is None or not field.field_type.is_primitive:
            return convert_entry

        def convert_or_request(value: Any) -> Any:
            try:
                return convert_entry(value)
            except Unconvertible as error:
                if error.wider is None:
                    raise
                promotions.promote(field_id, error.wider)
                return None

        return convert_or_request


_PRIMITIVES: dict[type[IcebergType], Converter] = {
    IntegerType: int_column,
    LongType: long_column,
    FloatType: float_column,
    DoubleType: double_column,
    BooleanType: boolean_column,
    StringType: string_column,
    UUIDType: uuid_column,
    BinaryType: binary_column,
    DateType: date_column,
    TimeType: time_column,
    TimestampType: timestamp_column,
    TimestamptzType: timestamptz_column,
}


def converter(target: IcebergType, lookup: Lookup = EXACT) -> Converter:
    """Compile the converter for a column type. Raises UnsupportedColumn for types floe cannot write."""
    return Trees(primitive_converter, lookup).converter(target)


def field_converter(
    field: NestedField, lookup: Lookup = EXACT, promotions: PromotionRequests | None = None
) -> tuple[str, Converter]:
    """Compile name and converter of one column; the converter takes the record's values by column name.

    With ``promotions``, a value that would fit a promoted column, or a null that would fit an optional one, is noted
    there, and the record converts; its row is then discarded.
    """
    return Trees(primitive_converter, lookup, promotions).field_converter(field)


def primitive_converter(target: IcebergType) -> Converter:
    """Compile the converter of a column that has none inside. Raises UnsupportedColumn."""
    if isinstance(target, DecimalType):
        return decimal_column(target)
    if isinstance(target, FixedType):
        return fixed_column(len(target))
    if type(target) in _PRIMITIVES:
        return _PRIMITIVES[type(target)]
    problem = f"a column of type {target} cannot be written by floe; drop it or change its type"
    raise UnsupportedColumn(problem)


# The changes of columns that one record requires to fit: noted while it converts, instead of refusing it.


class PromotionRequests:
    """Promotions and required columns to be made optional, by field id."""

    def __init__(self, schema: Schema) -> None:
        """Take requests for the columns of ``schema``; its identifier fields, and the structs around them, stay required."""
        self._required = identifiers(schema)
        self.promoted: dict[int, PrimitiveType] = {}
        self.optional: dict[int, None] = {}

    def __bool__(self) -> bool:
        return bool(self.promoted or self.optional)

    def clear(self) -> None:
        """Remove the requests of the last record."""
        if self:
            self.promoted, self.optional = {}, {}

    def may_be_optional(self, field_id: int) -> bool:
        """Return whether a column may be made optional at all."""
        return field_id not in self._required

    def make_optional(self, field_id: int) -> None:
        """Note a null in a required column."""
        self.optional[field_id] = None

    def promote(self, field_id: int, wider: PrimitiveType) -> None:
        """Note a value that fits the wider type only."""
        self.promoted[field_id] = widest(self.promoted.get(field_id), wider)


def widest(known: PrimitiveType | None, wider: PrimitiveType) -> PrimitiveType:
    """Return the wider one of two promotions of one column."""
    if isinstance(known, DecimalType) and isinstance(wider, DecimalType) and known.precision > wider.precision:
        return known
    return wider


def identifiers(schema: Schema) -> frozenset[int]:
    """Return the ids of the identifier fields and of every struct around one."""
    around = parents_of(schema)
    found: set[int] = set()
    for field_id in schema.identifier_field_ids:
        current: int | None = field_id
        while current is not None:
            found.add(current)
            current = around.get(current)
    return frozenset(found)
