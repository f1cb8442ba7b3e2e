"""What Kafka Connect makes of a JSON Schema: the rules of Confluent's ``JsonSchemaData.toConnectSchema``.

Descriptions are left out, and the version of the registry's subject. Fields are in the order of ``connect.index``, else of
the text; the branches of a union in that of the text. Schemas of later drafts are read by the rules of draft 7, as with
``ignore.modern.dialects=true``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from floe.schema_registry.schema import RegisteredSchema
from floe_job.connect import logical
from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.json_schema.nodes import (
    ALL,
    MAX_DEPTH,
    MAX_PARTS,
    UNIONS,
    Documents,
    Place,
    SchemaNode,
    node_of,
    refuse,
    shown,
)
from floe_job.convert.typed_json.carried_types import JsonForms, carried_type
from floe_job.convert.typed_json.json_values import JsonValues
from floe_job.convert.typed_json.typed_columns import Findings, typed_column
from floe_job.exceptions import InvalidRecord

MAX_FIELDS: Final = 5_000
"""Values that one record may have beside the elements of arrays and maps: each use of a definition counts."""

_LISTED: Final = ("enum", "connect.parameters")
"""What a schema may have many of, and each use of it has again."""


def connect_schema(registered: RegisteredSchema, options: JsonSchemaOptions) -> ConnectSchema:
    """Return the schema that Connect has for the values of a JSON Schema. Raises UnusableSchema."""
    conversion = _Conversion(Documents(registered), options)
    made = conversion.schema(conversion.documents.root)
    try:
        arrow_type(made)
    except ValueError as error:
        refuse(f"the schema cannot be read: {error}")
    return made


def _names_properties(schema: Mapping[str, Any]) -> bool:
    return bool(properties_of(schema)) or bool(schema.get("patternProperties"))


@dataclass
class _Conversion:
    """The conversion of one schema."""

    documents: Documents
    options: JsonSchemaOptions
    _fields: int = field(default=0)
    _parts: int = field(default=0)
    _open: list[int] = field(default_factory=list)

    def schema(self, place: Place, *, optional: bool = False) -> ConnectSchema:
        """Convert a schema. Raises UnusableSchema."""
        place = Place(place.schema, self.documents.base_of(place))
        self._count_field()
        with self._within(place):
            return self._node(node_of(place.schema), place.base, optional)

    def _count_field(self) -> None:
        self._fields += 1
        if self._fields > MAX_FIELDS:
            refuse(f"the schema has more than {MAX_FIELDS} fields")

    def _count_parts(self, count: int) -> None:
        self._parts += count
        if self._parts > MAX_PARTS:
            refuse(f"the schema has more than {MAX_PARTS} branches, symbols and parameters in all uses of its parts")

    @contextmanager
    def _within(self, place: Place) -> Iterator[None]:
        mark = id(place.schema)
        if mark in self._open and isinstance(place.schema, dict):
            title = place.schema.get("title")
            what = shown(title) if isinstance(title, str) else f"a schema with {shown(sorted(map(str, place.schema)))}"
            refuse(f"the schema is recursive: {what} contains itself, and a table's columns cannot")
        if len(self._open) >= MAX_DEPTH:
            refuse(f"the schema has more than {MAX_DEPTH} levels")
        self._open.append(mark)
        yield
        self._open.pop()

    def _node(self, node: SchemaNode, base: str, optional: bool) -> ConnectSchema:
        if node.kind == "$ref":
            return self.schema(self.documents.referred(node.json["$ref"], base), optional=optional)
        if node.kind == ALL:
            return self._all(node, base, optional)
        if node.kind in UNIONS:
            return self._union(node, base, optional)
        self._count_parts(sum(len(found) for found in map(node.json.get, _LISTED) if isinstance(found, dict | list)))
        return with_common(node, self._bare(node, base), optional)

    def _bare(self, node: SchemaNode, base: str) -> ConnectSchema:
        if node.kind == "object":
            return self._object(node, base)
        if node.kind == "array":
            return self._array(node, base)
        return scalar(node)

    def _object(self, node: SchemaNode, base: str) -> ConnectSchema:
        values = node.json.get("additionalProperties")
        is_map = node.common.get("connect.type") == "map"
        if is_map and not isinstance(values, dict):
            refuse("the schema has a map whose additionalProperties say no type")
        if is_map or (isinstance(values, dict) and values and not _names_properties(node.json)):
            return ConnectSchema(Kind.MAP, key=ConnectSchema(Kind.STRING), element=self.schema(Place(values, base)))
        required = required_by(node.json)
        properties = properties_of(node.json)
        fields = [(name, self._property(name, inner, base, required)) for name, inner in ordered(properties)]
        return ConnectSchema(Kind.STRUCT, fields=tuple(fields))

    def _property(self, name: str, inner: Any, base: str, required: frozenset[str]) -> ConnectSchema:
        optional = self.options.optional_for_nonrequired and name not in required
        return self.schema(Place(inner, base), optional=optional)

    def _array(self, node: SchemaNode, base: str) -> ConnectSchema:
        items = node.json.get("items")
        if not isinstance(items, dict):
            refuse("the schema has an array without a type of its items, or with one for each of them")
        if node.common.get("connect.type") == "map" and node_of(items).kind == "object":
            properties = properties_of(items)
            if not {"key", "value"} <= properties.keys():
                refuse("the schema has a map as an array, and its items are no objects of key and value")
            key, value = (self.schema(Place(properties[name], base)) for name in ("key", "value"))
            if key.kind in (Kind.STRUCT, Kind.ARRAY, Kind.MAP):
                refuse(f"the schema has a map whose keys are {key.kind.value}s, which floe does not compare")
            return ConnectSchema(Kind.MAP, key=key, element=value)
        return ConnectSchema(Kind.ARRAY, element=self.schema(Place(items, base)))

    def _union(self, node: SchemaNode, base: str, optional: bool) -> ConnectSchema:
        """Convert a choice; of null and one other it is that, which may be null."""
        branches = [(part, base) for part in node.parts] + [self._opened(one, base) for one in node.schemas]
        others = [branch for branch in branches if branch[0].kind != "null"]
        if len(branches) == 2 and len(others) == 1:
            return self._branch(others[0], node, base, optional=True)
        if len(branches) == len(others) == 1 and self.options.flatten_singletons:
            return self._branch(others[0], node, base, optional=optional)
        fields = [
            (f"{UNION}.field.{index}", self._branch(branch, node, base, optional=True))
            for index, branch in enumerate(others)
        ]
        made = ConnectSchema(Kind.STRUCT, len(others) < len(branches), UNION, fields=tuple(fields))
        return with_common(node, made, optional)

    def _opened(self, schema: Any, base: str) -> tuple[SchemaNode, str]:
        self._count_parts(1)
        place = Place(schema, base)
        return node_of(schema), self.documents.base_of(place)

    def _branch(self, branch: tuple[SchemaNode, str], node: SchemaNode, base: str, *, optional: bool) -> ConnectSchema:
        part, own = branch
        if not node.schemas:
            self._count_field()
            return self._node(part, base, optional)
        return self.schema(Place(part.json, own), optional=optional)

    def _all(self, node: SchemaNode, base: str, optional: bool) -> ConnectSchema:
        """Convert what several parts say: the properties of all of them, else the part that says most."""
        parts = [(part, base) for part in node.parts] + [self._opened(one, base) for one in node.schemas]
        properties: dict[str, tuple[Any, str]] = {}
        required: dict[str, bool] = {}
        for part, own in parts:
            self._collect(part, own, properties, required, set())
        if properties:
            fields = [
                (name, self._property(name, inner, own, frozenset(one for one, needed in required.items() if needed)))
                for name, (inner, own) in properties.items()
            ]
            return ConnectSchema(Kind.STRUCT, optional, fields=tuple(fields))
        said = chosen([part for part, _ in parts])
        if said is None:
            refuse(f"the schema has {shown(dict(node.json))}, whose parts say no type that Kafka Connect has")
        own = next(own for part, own in parts if part is said)
        return self._node(said, own, optional)

    def _collect(
        self,
        node: SchemaNode,
        base: str,
        properties: dict[str, tuple[Any, str]],
        required: dict[str, bool],
        seen: set[int],
    ) -> None:
        """Collect the properties of a part, and of all that it consists of."""
        self._count_parts(1)
        if node.kind == "$ref":
            place = self.documents.referred(node.json["$ref"], base)
            if id(place.schema) not in seen:
                seen.add(id(place.schema))
                own = self.documents.base_of(place)
                self._collect(node_of(place.schema), own, properties, required, seen)
        elif node.kind == ALL:
            for part in node.parts:
                self._collect(part, base, properties, required, seen)
            for one in node.schemas:
                self._collect(*self._opened(one, base), properties, required, seen)
        elif node.kind == "object":
            names = required_by(node.json)
            for name, inner in properties_of(node.json).items():
                properties[name] = (inner, base)
                required[name] = name in names


# The options of the JSON Schema converter that change what a schema means.


@dataclass(frozen=True)
class JsonSchemaOptions:
    """Options of Confluent's JsonSchemaConverter.

    ``optional_for_nonrequired`` (``use.optional.for.nonrequired``): a property that ``required`` does not name is optional.
    Else only what may be null is. ``flatten_singletons`` (``flatten.singleton.unions``): a choice of one is that one.
    """

    optional_for_nonrequired: bool = False
    flatten_singletons: bool = False


# What single parts of a JSON Schema mean to Kafka Connect: types, properties, and what ``connect.*`` says of them.


NAMESPACE: Final = "io.confluent.connect.json"
UNION: Final = f"{NAMESPACE}.OneOf"
ENUM: Final = f"{NAMESPACE}.Enum"
FORMS: Final = JsonForms(absent_is_null=True, entries_are_objects=True, union=UNION)

_NULL_SYMBOL: Final = "<NULL>"
_NUMBERS: Final = {
    "int8": Kind.INT8,
    "int16": Kind.INT16,
    "int32": Kind.INT32,
    "int64": Kind.INT64,
    "float32": Kind.FLOAT32,
    "float64": Kind.FLOAT64,
    "bytes": Kind.BYTES,
}
_KIND_OF_NAME: Final = {logical.DATE: Kind.INT32, logical.TIME: Kind.INT32, logical.TIMESTAMP: Kind.INT64}
_WHOLE: Final = frozenset({Kind.INT8, Kind.INT16, Kind.INT32, Kind.INT64})


def scalar(node: SchemaNode) -> ConnectSchema:
    """Return the schema of a part that says the type of single values. Raises UnusableSchema."""
    if node.kind in ("integer", "number"):
        return ConnectSchema(_number(node))
    if node.kind == "string":
        return ConnectSchema(Kind.BYTES if node.common.get("connect.type") == "bytes" else Kind.STRING)
    if node.kind == "boolean":
        return ConnectSchema(Kind.BOOLEAN)
    if node.kind == "enum":
        return _enum(node)
    refuse(f"the schema has {shown(dict(node.json))}, which says no type that Kafka Connect has")


def with_common(node: SchemaNode, bare: ConnectSchema, optional: bool) -> ConnectSchema:
    """Add the name, the version, the parameters and the default that a part has."""
    name = bare.name or node.text("title")
    kind = _KIND_OF_NAME.get(name or "", bare.kind) if bare.kind in _WHOLE else bare.kind
    version = node.common.get("connect.version")
    if version is not None and type(version) is not int:
        refuse(f"the schema has the connect.version {shown(version)}, which is no whole number")
    parameters = (*bare.parameters, *_parameters(node).items())
    made = replace(
        bare, kind=kind, name=name, version=version, parameters=parameters, optional=bare.optional or optional
    )
    default = node.common.get("default")
    return made if default is None else replace(made, default=_default(made, default))


def chosen(parts: Sequence[SchemaNode]) -> SchemaNode | None:
    """Choose the part that says the type, where none has properties."""
    by_kind: dict[str, SchemaNode] = {}
    for part in parts:
        by_kind["union" if part.kind in UNIONS or part.kind == ALL else part.kind] = part
    number = by_kind.get("integer", by_kind.get("number"))
    text = by_kind.get("string")
    if "union" in by_kind:
        return by_kind["union"]
    if number is not None and (text is None or number.is_named):
        return number
    if text is not None:
        return by_kind["enum"] if "enum" in by_kind and "const" not in by_kind else text
    rest = [kind for kind in ("$ref", "boolean", "array", "object") if kind in by_kind]
    return by_kind[rest[0]] if rest else None


def properties_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    found = schema.get("properties", {})
    if not isinstance(found, dict):
        refuse(f"the schema has properties that are {shown(found)}")
    return found


def required_by(schema: Mapping[str, Any]) -> frozenset[str]:
    found = schema.get("required", [])
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        refuse(f"the schema has required that is {shown(found)}, and no list of names")
    return frozenset(found)


def ordered(properties: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return properties in the order of their connect.index; those without one stay where they are."""
    indices = [inner.get("connect.index") if isinstance(inner, dict) else None for inner in properties.values()]
    keys = [index if type(index) is int else place for place, index in enumerate(indices)]
    entries = list(properties.items())
    return [entries[place] for place in sorted(range(len(entries)), key=lambda place: keys[place])]


def _number(node: SchemaNode) -> Kind:
    name = node.common.get("connect.type")
    if name is None:
        return Kind.INT64 if node.kind == "integer" else Kind.FLOAT64
    if not isinstance(name, str) or name not in _NUMBERS:
        refuse(f"the schema has a number whose connect.type is {shown(name)}; known: {', '.join(_NUMBERS)}")
    return _NUMBERS[name]


def _enum(node: SchemaNode) -> ConnectSchema:
    values = node.json["enum"]
    if not isinstance(values, list):
        refuse(f"the schema has an enum that is {shown(values)}, and no list")
    symbols = [_NULL_SYMBOL if one is None else one if isinstance(one, str) else json.dumps(one) for one in values]
    parameters = {ENUM: ""} | {f"{ENUM}.{symbol}": symbol for symbol in symbols}
    return ConnectSchema(Kind.STRING, None in values, parameters=tuple(parameters.items()))


def _parameters(node: SchemaNode) -> dict[str, str]:
    found = node.common.get("connect.parameters", {})
    if not isinstance(found, dict) or any(isinstance(value, dict | list) for value in found.values()):
        refuse(f"the schema has connect.parameters that are {shown(found)}")
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in found.items()}


def _default(schema: ConnectSchema, given: Any) -> Any:
    """Return a default as a value of its schema. Raises UnusableSchema."""
    findings = Findings()
    try:
        carried = pa.array([JsonValues(FORMS).reader(schema)(given)], carried_type(schema))
        column = typed_column(carried, schema, np.zeros(1, np.int64), findings)
        found = column.to_pylist()[0]
    except (InvalidRecord, ValueError, OverflowError) as error:
        refuse(f"the schema has the default {shown(given)}, which it cannot have: {error}")
    if findings.reasons:
        refuse(f"the schema has the default {shown(given)}, which it cannot have: {findings.reasons[0]}")
    return found
