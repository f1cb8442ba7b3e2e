"""The parts that Confluent's converter sees in a schema: one for its type, one for each ``allOf``, ``enum`` and so on.

They are those of the library that it reads schemas with (everit's json-schema, draft 7). Where a schema has more than one,
its ``title``, ``default`` and ``connect.*`` belong to all of it, and to none of the parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, NoReturn

from floe_job.exceptions import VALUE_LENGTH, UnusableSchema, clip

MAX_DEPTH: Final = 64
"""Types in each other."""

ALL, ANY, ONE = "allOf", "anyOf", "oneOf"
UNIONS: Final = frozenset({ANY, ONE})

_KEYWORDS: Final[Mapping[str, frozenset[str]]] = {
    "array": frozenset({"items", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains"}),
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
    "object": frozenset(
        {
            "properties",
            "required",
            "minProperties",
            "maxProperties",
            "additionalProperties",
            "dependencies",
            "patternProperties",
            "propertyNames",
        }
    ),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
}
"""What says the type of a schema that does not name it."""

_SAYING_NO_TYPE: Final = (frozenset({"not"}), frozenset({"if", "then", "else"}))
_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_NO_PROPERTIES: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Node:
    """A part of a schema. ``kind``: a type, ``allOf``, ``anyOf``, ``oneOf``, ``enum``, ``const``, ``$ref`` or ``other``.

    ``json``: the schema that has it. ``common``: title, default and ``connect.*``, where they are its own. ``parts``: of
    what is combined; ``schemas``: of it, those that are schemas of their own. ``is_named``: its type is named.
    """

    kind: str
    json: Mapping[str, Any]
    common: Mapping[str, Any] = field(default_factory=lambda: _NO_PROPERTIES)
    parts: tuple[Node, ...] = ()
    schemas: tuple[Any, ...] = ()
    is_named: bool = True

    def text(self, name: str) -> str | None:
        """Return one of the common properties that is a text."""
        found = self.common.get(name)
        if found is not None and not isinstance(found, str):
            refuse(f"the schema has a {name} that is {shown(found)}, and no text")
        return found


def node_of(schema: Any) -> Node:
    """Return a schema as one part, or as ``allOf`` several. Raises UnusableSchema."""
    if isinstance(schema, bool):
        return Node("other", _NO_PROPERTIES)
    if not isinstance(schema, dict):
        refuse(f"the schema has {shown(schema)} where a schema is expected")
    common = {key: value for key, value in schema.items() if key in ("title", "default") or key.startswith("connect.")}
    if "$ref" in schema:
        return Node("$ref", schema, common)
    parts = tuple(_parts(schema))
    if len(parts) == 1:
        return replace(parts[0], common=common)
    return Node(ALL, schema, common, parts=parts) if parts else Node("other", schema, common)


def _parts(schema: dict[str, Any]) -> Iterator[Node]:
    if "enum" in schema:
        yield Node("enum", schema)
    for kind in (ALL, ANY, ONE):
        if kind in schema:
            given = schema[kind]
            if not isinstance(given, list) or not given:
                refuse(f"the schema has {kind} that is {shown(given)}, and no list of schemas")
            yield Node(kind, schema, schemas=tuple(given))
    if "const" in schema:
        yield Node("const", schema)
    for keywords in _SAYING_NO_TYPE:
        if not keywords.isdisjoint(schema):
            yield Node("other", schema)
    yield from _types(schema)


def _types(schema: dict[str, Any]) -> Iterator[Node]:
    kind = schema.get("type")
    taken: set[str] = set()
    if kind is not None:
        names = kind if isinstance(kind, list) else [kind]
        if not names or not all(isinstance(name, str) and name in _TYPES for name in names):
            refuse(f"the schema has the type {shown(kind)}, which JSON Schema does not have")
        named = tuple(Node(name, schema) for name in names)
        taken = {"number" if name == "integer" else name for name in names}
        yield Node(ANY, schema, parts=named) if isinstance(kind, list) else named[0]
    for name, keywords in _KEYWORDS.items():
        if name not in taken and not keywords.isdisjoint(schema):
            yield Node(name, schema, is_named=False)


def refuse(problem: str) -> NoReturn:
    """Raise UnusableSchema."""
    raise UnusableSchema(problem)


def shown(value: Any) -> str:
    """Return a value of a schema as messages have it."""
    return clip(repr(value), VALUE_LENGTH)
