"""Avro schemas: from JSON to types, with all names resolved (Avro 1.12, "Schema Declaration", "Names")."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from floe.schema_registry.schema import RegisteredSchema
from floe_job.connect.schema import ABSENT
from floe_job.exceptions import VALUE_LENGTH, UnusableSchema, clip

# Avro's types, with all names resolved.


PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
NAMED: Final = frozenset({"record", "enum", "fixed"})

NULL: Final = "null"

MAX_DEPTH: Final = 64
"""Types in each other."""


@dataclass(frozen=True, eq=False)
class AvroType:
    """A type. ``name``: the full name of a record, an enum or a fixed. ``properties``: what Avro itself does not read.

    ``items``: the type of an array's elements, or of a map's values.
    """

    kind: str
    properties: Mapping[str, Any]
    name: str = ""
    fields: tuple[AvroField, ...] = ()
    symbols: tuple[str, ...] = ()
    size: int = 0
    items: AvroType | None = None
    branches: tuple[AvroType, ...] = ()

    @property
    def simple_name(self) -> str:
        """The name without its namespace."""
        return self.name.rpartition(".")[2]

    @property
    def logical(self) -> str:
        """The logical type in lower case; empty where there is none."""
        name = self.properties.get("logicalType")
        return name.lower() if isinstance(name, str) else ""

    @property
    def content(self) -> AvroType:
        """The type of an array's elements, or of a map's values."""
        assert self.items is not None  # noqa: S101 - only of arrays and maps
        return self.items


@dataclass(frozen=True, eq=False)
class AvroField:
    """A field of a record. ``default``: as it is in the schema's JSON, or ABSENT."""

    name: str
    type: AvroType
    default: Any = field(default=ABSENT)


def only_branch(union: AvroType) -> AvroType | None:
    """Return the branch beside null of a union of two; None for another union."""
    others = [branch for branch in union.branches if branch.kind != NULL]
    return others[0] if len(union.branches) == 2 and len(others) == 1 else None


def refuse(problem: str) -> NoReturn:
    """Raise UnusableSchema."""
    raise UnusableSchema(problem)


def shown(value: Any) -> str:
    """Return a value of a schema as messages have it."""
    return clip(repr(value), VALUE_LENGTH)


MAX_TYPES: Final = 20_000
"""Types in the text of a schema, each use of a name included."""

_RESERVED: Final = frozenset(
    {"type", "name", "namespace", "aliases", "doc", "fields", "symbols", "size", "items", "values", "default"}
)
_NO_PROPERTIES: Final[Mapping[str, Any]] = {}
_BARE: Final = {kind: AvroType(kind, _NO_PROPERTIES) for kind in PRIMITIVES}


def parse_schema(schema: RegisteredSchema) -> AvroType:
    """Parse a schema and what it refers to. Raises UnusableSchema."""
    parser = _Parser()
    for text, name in {one.text: reference.name for reference, one in schema.referenced}.items():
        parser.parse(text, f"the schema that it refers to as {shown(name)}")
    return parser.parse(schema.schema.text, "the schema")


class _Parser:
    """Parses schemas that may refer to the names of those before."""

    def __init__(self) -> None:
        self._named: dict[str, AvroType] = {}
        self._unfinished: set[str] = set()
        self._types = 0

    def parse(self, text: str, what: str) -> AvroType:
        try:
            node = json.loads(text)
        except RecursionError:
            refuse(f"{what} has more than {MAX_DEPTH} levels")
        except ValueError as error:
            refuse(f"{what} is not JSON: {error}")
        return self._type(node, "", 0)

    def _type(self, node: Any, namespace: str, depth: int) -> AvroType:
        self._types += 1
        if self._types > MAX_TYPES or depth > MAX_DEPTH:
            limit = f"{MAX_TYPES} types" if self._types > MAX_TYPES else f"{MAX_DEPTH} levels"
            refuse(f"the schema has more than {limit}")
        if isinstance(node, str):
            return _BARE[node] if node in PRIMITIVES else self._known(node, namespace)
        if isinstance(node, list):
            return self._union(node, namespace, depth)
        if not isinstance(node, dict):
            refuse(f"the schema has {shown(node)} where a type is expected")
        kind = node.get("type")
        if isinstance(kind, dict | list):
            return self._type(kind, namespace, depth + 1)
        properties = {key: value for key, value in node.items() if key not in _RESERVED}
        if kind in NAMED or kind == "error":
            return self._declared("record" if kind == "error" else str(kind), node, properties, namespace, depth)
        if kind in ("array", "map"):
            content = _required(node, "items" if kind == "array" else "values", kind)
            return AvroType(kind, properties, items=self._type(content, namespace, depth + 1))
        if kind in PRIMITIVES:
            return AvroType(str(kind), properties)
        return self._known(kind, namespace)

    def _union(self, nodes: list[Any], namespace: str, depth: int) -> AvroType:
        branches = tuple(self._type(node, namespace, depth + 1) for node in nodes)
        seen: set[str] = set()
        for branch in branches:
            if branch.kind == "union":
                refuse("the schema has a union directly in a union, which Avro does not allow")
            name = branch.name or branch.kind
            if name in seen:
                refuse(f"the schema has a union with two branches {shown(name)}, which Avro does not allow")
            seen.add(name)
        if not branches:
            refuse("the schema has a union without a branch")
        return AvroType("union", _NO_PROPERTIES, branches=branches)

    def _declared(
        self, kind: str, node: dict[str, Any], properties: dict[str, Any], namespace: str, depth: int
    ) -> AvroType:
        name = _full_name(node, kind, namespace)
        if name in self._named or name in self._unfinished:
            refuse(f"the schema declares {shown(name)} twice")
        if kind == "record":
            self._unfinished.add(name)
            inner = name.rpartition(".")[0]
            fields = tuple(self._field(field, name, inner, depth) for field in _list(node, "fields", kind))
            _check_unique([field.name for field in fields], f"record {shown(name)}", "field")
            self._unfinished.discard(name)
            made = AvroType(kind, properties, name, fields=fields)
        elif kind == "enum":
            symbols = _list(node, "symbols", kind)
            if not all(isinstance(symbol, str) for symbol in symbols):
                refuse(f"enum {shown(name)} has a symbol that is no text")
            _check_unique(symbols, f"enum {shown(name)}", "symbol")
            if "default" in node:
                properties["default"] = node["default"]
            made = AvroType(kind, properties, name, symbols=tuple(symbols))
        else:
            size = _required(node, "size", kind)
            if type(size) is not int or not 0 <= size < 2**31:
                refuse(f"fixed {shown(name)} has the size {shown(size)}")
            made = AvroType(kind, properties, name, size=size)
        self._named[name] = made
        return made

    def _field(self, node: Any, record: str, namespace: str, depth: int) -> AvroField:
        name = node.get("name") if isinstance(node, dict) else None
        if not isinstance(name, str) or "type" not in node:
            refuse(f"record {shown(record)} has a field without a name or a type: {shown(node)}")
        return AvroField(name, self._type(node["type"], namespace, depth + 1), node.get("default", ABSENT))

    def _known(self, name: Any, namespace: str) -> AvroType:
        if not isinstance(name, str):
            refuse(f"the schema has {shown(name)} where a type is expected")
        for full in (name if "." in name or not namespace else f"{namespace}.{name}", name):
            if full in self._unfinished:
                refuse(f"the schema is recursive: {shown(full)} contains itself, and a table's columns cannot")
            if full in self._named:
                return self._named[full]
        refuse(f"the schema uses {shown(name)}, which it does not declare")


def _full_name(node: dict[str, Any], kind: str, namespace: str) -> str:
    name = _required(node, "name", kind)
    space = node.get("namespace", namespace)
    if not isinstance(name, str) or not isinstance(space, str) or not name:
        refuse(f"the schema has {shown(name)} in {shown(space)} as the name of a type")
    return name.lstrip(".") if "." in name or not space else f"{space}.{name}"


def _required(node: dict[str, Any], key: str, kind: str) -> Any:
    if key not in node:
        refuse(f"the schema has a type {kind!r} without {key!r}")
    return node[key]


def _list(node: dict[str, Any], key: str, kind: str) -> list[Any]:
    found = _required(node, key, kind)
    if not isinstance(found, list):
        refuse(f"the schema has a type {kind!r} whose {key!r} is {shown(found)}, and no list")
    return found


def _check_unique(names: list[str], where: str, what: str) -> None:
    if len(set(names)) < len(names):
        ((twice, _),) = Counter(names).most_common(1)
        refuse(f"{where} has two of the {what} {shown(twice)}")


# The options of the Avro converters that change what a schema means.


@dataclass(frozen=True)
class AvroOptions:
    """Options of Confluent's and Apicurio's AvroConverter.

    ``enhanced_support`` (``enhanced.avro.schema.support``): the branches of a union have the full names of their types.
    ``connect_metadata`` (``connect.meta.data``): ``connect.parameters`` of the schema are read.
    ``flatten_singletons`` (``flatten.singleton.unions``): a union of one branch is that branch. Apicurio has no such
    option, and does not.
    ``unwrap_union``: a value that is a union of many is the branch that it has, as Apicurio's converter reads it; else a
    struct with a field for each branch, as Confluent's does.
    """

    enhanced_support: bool = False
    connect_metadata: bool = True
    flatten_singletons: bool = True
    unwrap_union: bool = False

    def branch_name(self, branch: AvroType) -> str:
        """Return the name of the field that a branch of a union has."""
        if not branch.name:
            return branch.kind
        return branch.name if self.enhanced_support else branch.simple_name
