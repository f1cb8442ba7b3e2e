"""Values into columns that hold columns: struct, list, map; and the null that any column may meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType

from floe_job.conform.lookup import Lookup
from floe_job.conform.refusal import refuse
from floe_job.conform.wishes import Wishes
from floe_job.exceptions import Unconvertible

Converter = Callable[[Any], Any]

ELEMENT = "element"


@dataclass(frozen=True)
class Trees:
    """Compiles converters of nested columns.

    ``primitive`` compiles those of leaves. With ``wishes``, values that a change of the column would fit are noted there.
    """

    primitive: Callable[[IcebergType], Converter]
    lookup: Lookup
    wishes: Wishes | None = None

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
        wishes, field_id = self.wishes, field.field_id

        def convert_leaf(record: dict[str, Any]) -> Any:
            value = record.get(name)
            if value is None:
                return None
            try:
                return convert(value)
            except Unconvertible as error:
                if error.wider is None or wishes is None:
                    raise error.inside(name) from None
                wishes.promote(field_id, error.wider)
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
            return row  # what is left out is null, and of a thousand fields a record may have two

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

        def convert(value: Any) -> list[tuple[Any, Any]]:
            if not isinstance(value, dict):
                raise refuse(value, "map")
            converted: dict[Any, Any] = {}
            for name, item in value.items():
                try:
                    converted[key(name)] = entry(item)
                except Unconvertible as error:
                    raise error.inside(name) from None
            return list(converted.items())

        return convert

    def _entry(self, field: NestedField) -> Converter:
        """Compile the converter of a column, an element or a map's value, which may be null."""
        convert = self.converter(field.field_type)
        wishes, field_id = self.wishes, field.field_id
        refused = field.required and (wishes is None or not wishes.may_be_optional(field_id))

        def convert_entry(value: Any) -> Any:
            if value is not None:
                return convert(value)
            if refused:
                problem = "null in a required column"
                raise Unconvertible(problem)
            if field.required and wishes is not None:
                wishes.make_optional(field_id)
            return None

        if wishes is None or not field.field_type.is_primitive:
            return convert_entry

        def convert_or_wish(value: Any) -> Any:
            try:
                return convert_entry(value)
            except Unconvertible as error:
                if error.wider is None:
                    raise
                wishes.promote(field_id, error.wider)
                return None

        return convert_or_wish
