"""The exact way: values that are parsed already, one by one, into the types of ``floe_job.convert.typed_json.carried_types``.

A value must be what its schema says: no text is taken for a number. Of a number, 2.0 is a whole one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, cast

from floe_job.connect.arrow import is_decimal
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.typed_json.carried_types import DecimalForm, carried_value
from floe_job.convert.typed_json.forms import JsonForms
from floe_job.convert.typed_json.scalars import SCALARS, Read, decimal_reader
from floe_job.convert.typed_json.unions import NOT, Branch
from floe_job.exceptions import VALUE_LENGTH, Malformed, Unconvertible, clip
from floe_job.types.coercion_error import refuse

KEY: Final = "key"
VALUE: Final = "value"


@dataclass(frozen=True)
class JsonValues:
    """Compiles the readers of values."""

    forms: JsonForms
    decimals: DecimalForm = DecimalForm.TEXT

    def reader(self, schema: ConnectSchema) -> Read:
        """Return the reader of whole values. It raises Malformed."""
        read = self._nullable(schema)

        def read_whole(value: Any) -> Any:
            try:
                return read(value)
            except Unconvertible as error:
                raise Malformed(placed(".".join(error.path), error.problem)) from None

        return read_whole

    def _nullable(self, schema: ConnectSchema) -> Read:
        read, takes_null = self._present(schema), schema.optional

        def read_nullable(value: Any) -> Any:
            if value is not None:
                return read(value)
            if not takes_null:
                problem = "it is null, and its schema requires a value"
                raise Unconvertible(problem)
            return None

        return read_nullable

    def _present(self, schema: ConnectSchema) -> Read:
        if schema.kind is Kind.STRUCT:
            return self._union(schema) if schema.name == self.forms.union else self._struct(schema)
        if schema.kind is Kind.ARRAY:
            return self._array(schema)
        if schema.kind is Kind.MAP:
            return self._map(schema)
        if is_decimal(schema):
            return decimal_reader(schema, self.decimals)
        return SCALARS[schema.kind]

    def _struct(self, schema: ConnectSchema) -> Read:
        fields = {name: self._nullable(inner) for name, inner in schema.fields}
        defaults = {
            name: carried_value(inner, inner.default, self.decimals)
            for name, inner in schema.fields
            if has_default(inner)
        }
        required = [
            name
            for name, inner in schema.fields
            if not self.forms.absent_is_null and not inner.optional and name not in defaults
        ]

        def read(value: Any) -> dict[str, Any]:
            if type(value) is not dict:
                raise refuse(value, "struct")
            found = {name: _inside(name, fields[name], value[name]) for name in value if name in fields}
            if len(found) < len(value):
                unknown = next((name for name in value if name not in fields and value[name] is not None), None)
                if unknown is not None:
                    problem = "it has a value, and its schema has no such property, so that no column would get it"
                    raise Unconvertible(problem).inside(unknown)
            for name in required:
                if name not in found:
                    problem = "it is not there, and its schema requires a value"
                    raise Unconvertible(problem).inside(name)
            return {**defaults, **found}

        return read

    def _array(self, schema: ConnectSchema) -> Read:
        element = self._nullable(cast(ConnectSchema, schema.element))

        def read(value: Any) -> list[Any]:
            if type(value) is not list:
                raise refuse(value, "array")
            return [_inside("element", element, entry) for entry in value]

        return read

    def _map(self, schema: ConnectSchema) -> Read:
        key_schema = cast(ConnectSchema, schema.key)
        key, element = self._nullable(key_schema), self._nullable(cast(ConnectSchema, schema.element))
        if key_schema.kind is Kind.STRING and not key_schema.optional:

            def read_object(value: Any) -> list[tuple[str, Any]]:
                if type(value) is not dict:
                    raise refuse(value, "map")
                return [(_inside(KEY, key, name), _inside(name, element, entry)) for name, entry in value.items()]

            return read_object
        pair = _pair_of_object if self.forms.entries_are_objects else _pair_of_array

        def read_entries(value: Any) -> list[tuple[Any, Any]]:
            if type(value) is not list:
                raise refuse(value, "map")
            pairs = (pair(entry) for entry in value)
            found = {_inside(KEY, key, name): _inside(VALUE, element, entry) for name, entry in pairs}
            if None in found:
                problem = "it has a key that is null"
                raise Unconvertible(problem)
            return list(found.items())

        return read_entries

    def _union(self, schema: ConnectSchema) -> Read:
        """Make the reader of unions: the branch is the first that a simple value is of, or has most of an object's fields."""
        branches = [
            Branch(name, inner, self._present(inner), inner.name == self.forms.union) for name, inner in schema.fields
        ]

        def read(value: Any) -> dict[str, Any]:
            fitting = [(branch.fits(value), -place) for place, branch in enumerate(branches)]
            best, place = max(fitting, default=(NOT, 0))
            if best is NOT:
                raise refuse(value, "union", "it is of none of its types")
            chosen = branches[-place]
            return {chosen.name: _inside(chosen.name, chosen.read, value)}

        return read


def has_default(schema: ConnectSchema) -> bool:
    """Return whether a field that is not there has a default. A null that was sent has none."""
    return schema.has_default and schema.default is not None


def placed(path: str, problem: str) -> str:
    """Return a problem with the field that has it."""
    return f"field {clip(path, VALUE_LENGTH)!r}: {problem}" if path else f"the value: {problem}"


def _inside(name: str, read: Read, value: Any) -> Any:
    try:
        return read(value)
    except Unconvertible as error:
        raise error.inside(name) from None


def _pair_of_object(entry: Any) -> tuple[Any, Any]:
    if type(entry) is not dict or entry.keys() != {KEY, VALUE}:
        raise refuse(entry, "map", "an entry must be an object of key and value")
    return entry[KEY], entry[VALUE]


def _pair_of_array(entry: Any) -> tuple[Any, Any]:
    if type(entry) is not list or len(entry) != 2:
        raise refuse(entry, "map", "an entry must be an array of key and value")
    return entry[0], entry[1]
