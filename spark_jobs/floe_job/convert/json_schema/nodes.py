"""The parts that Confluent's converter sees in a schema: one for its type, one for each ``allOf``, ``enum`` and so on.

They are those of the library that it reads schemas with (everit's json-schema, draft 7). Where a schema has more than one,
its ``title``, ``default`` and ``connect.*`` belong to all of it, and to none of the parts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple, NoReturn
from urllib.parse import unquote, urldefrag, urljoin

from floe.schema_registry.schema import RegisteredSchema
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
class SchemaNode:
    """A part of a schema. ``kind``: a type, ``allOf``, ``anyOf``, ``oneOf``, ``enum``, ``const``, ``$ref`` or ``other``.

    ``json``: the schema that has it. ``common``: title, default and ``connect.*``, where they are its own. ``parts``: of
    what is combined; ``schemas``: of it, those that are schemas of their own. ``is_named``: its type is named.
    """

    kind: str
    json: Mapping[str, Any]
    common: Mapping[str, Any] = field(default_factory=lambda: _NO_PROPERTIES)
    parts: tuple[SchemaNode, ...] = ()
    schemas: tuple[Any, ...] = ()
    is_named: bool = True

    def text(self, name: str) -> str | None:
        """Return one of the common properties that is a text."""
        found = self.common.get(name)
        if found is not None and not isinstance(found, str):
            refuse(f"the schema has a {name} that is {shown(found)}, and no text")
        return found


def node_of(schema: Any) -> SchemaNode:
    """Return a schema as one part, or as ``allOf`` several. Raises UnusableSchema."""
    if isinstance(schema, bool):
        return SchemaNode("other", _NO_PROPERTIES)
    if not isinstance(schema, dict):
        refuse(f"the schema has {shown(schema)} where a schema is expected")
    common = {key: value for key, value in schema.items() if key in ("title", "default") or key.startswith("connect.")}
    if "$ref" in schema:
        return SchemaNode("$ref", schema, common)
    parts = tuple(_parts(schema))
    if len(parts) == 1:
        return replace(parts[0], common=common)
    return SchemaNode(ALL, schema, common, parts=parts) if parts else SchemaNode("other", schema, common)


def _parts(schema: dict[str, Any]) -> Iterator[SchemaNode]:
    if "enum" in schema:
        yield SchemaNode("enum", schema)
    for kind in (ALL, ANY, ONE):
        if kind in schema:
            given = schema[kind]
            if not isinstance(given, list) or not given:
                refuse(f"the schema has {kind} that is {shown(given)}, and no list of schemas")
            yield SchemaNode(kind, schema, schemas=tuple(given))
    if "const" in schema:
        yield SchemaNode("const", schema)
    for keywords in _SAYING_NO_TYPE:
        if not keywords.isdisjoint(schema):
            yield SchemaNode("other", schema)
    yield from _types(schema)


def _types(schema: dict[str, Any]) -> Iterator[SchemaNode]:
    kind = schema.get("type")
    taken: set[str] = set()
    if kind is not None:
        names = kind if isinstance(kind, list) else [kind]
        if not names or not all(isinstance(name, str) and name in _TYPES for name in names):
            refuse(f"the schema has the type {shown(kind)}, which JSON Schema does not have")
        named = tuple(SchemaNode(name, schema) for name in names)
        taken = {"number" if name == "integer" else name for name in names}
        yield SchemaNode(ANY, schema, parts=named) if isinstance(kind, list) else named[0]
    for name, keywords in _KEYWORDS.items():
        if name not in taken and not keywords.isdisjoint(schema):
            yield SchemaNode(name, schema, is_named=False)


def refuse(problem: str) -> NoReturn:
    """Raise UnusableSchema."""
    raise UnusableSchema(problem)


def shown(value: Any) -> str:
    """Return a value of a schema as messages have it."""
    return clip(repr(value), VALUE_LENGTH)


# The texts of a schema and of what it refers to, and what ``$ref`` means in them (JSON Schema, draft 7, section 8).
#
# Nothing is fetched: a reference is to a part of the schema, or to a reference that the registry has.


MAX_PARTS: Final = 100_000
"""Values in the text of a schema."""

_BASE: Final = "http://schema.invalid/"
"""Where a schema without an ``$id`` is."""

_NOT_SCHEMAS: Final = frozenset({"enum", "const", "default", "examples"})


class Place(NamedTuple):
    """A schema in a text, and the URI that references in it are relative to."""

    schema: Any
    base: str


class Documents:
    """The schemas that references may mean, by URI."""

    def __init__(self, registered: RegisteredSchema) -> None:
        """Raises UnusableSchema."""
        self._places: dict[str, Place] = {}
        self._parts = 0
        self._bases: dict[int, str] = {}
        text = _parsed(registered.schema.text, "the schema")
        base = _joined(_BASE, _id(text) or "")
        for reference, one in registered.referenced:
            what = f"the schema that it refers to as {shown(reference.name)}"
            found = Place(_parsed(one.text, what), _joined(base, reference.name))
            self._places.setdefault(reference.name, found)
            self._add(*found)
        self.root = Place(text, base)
        self._add(text, base)

    def _add(self, text: Any, base: str) -> None:
        self._places.setdefault(urldefrag(base).url, Place(text, base))
        self._index(text, base, 0)

    def _index(self, node: Any, base: str, depth: int) -> None:
        """Note the schemas with a name of their own."""
        self._parts += 1
        if self._parts > MAX_PARTS or depth > 4 * MAX_DEPTH:
            refuse(f"the schema has more than {MAX_PARTS} parts or {4 * MAX_DEPTH} levels")
        if isinstance(node, dict):
            for name in _names(node):
                place = _joined(base, name)
                if not name.startswith("#"):
                    base = place
                self._places.setdefault(place.removesuffix("#"), Place(node, base))
            self._bases[id(node)] = base
        entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, inner in entries:
            if isinstance(inner, dict | list) and key not in _NOT_SCHEMAS:
                self._index(inner, base, depth + 1)

    def base_of(self, place: Place) -> str:
        """Return the URI that references directly in a schema are relative to."""
        return self._bases.get(id(place.schema), place.base)

    def referred(self, reference: Any, base: str) -> Place:
        """Return what a ``$ref`` means. Raises UnusableSchema."""
        if not isinstance(reference, str):
            refuse(f"the schema has a $ref that is {shown(reference)}")
        place = _joined(base, reference)
        whole, fragment = urldefrag(place)
        named = self._places.get(place.removesuffix("#"))
        if named is not None:
            return named
        document = self._places.get(whole) or self._places.get(urldefrag(reference).url)
        if document is None:
            refuse(
                f"the schema refers to {shown(reference)}, which neither it nor a reference of the registry has; floe "
                "fetches no schemas from elsewhere"
            )
        return self._pointed(document, fragment, reference)

    def _pointed(self, document: Place, pointer: str, reference: str) -> Place:
        found, base = document
        for step in unquote(pointer).split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and key in found:
                found = found[key]
            elif isinstance(found, list) and key.isascii() and key.isdigit() and int(key) < len(found):
                found = found[int(key)]
            else:
                refuse(f"the schema refers to {shown(reference)}, and there is no {shown(step)} there")
            base = self._bases.get(id(found), base)
        if pointer and not pointer.startswith("/"):
            refuse(f"the schema refers to {shown(reference)}, which it does not have")
        return Place(found, base)


def _joined(base: str, reference: str) -> str:
    if reference.startswith("#"):  # also where the base is no URL, such as a URN
        return urldefrag(base).url + reference
    try:
        return urljoin(base, reference)
    except ValueError:
        refuse(f"the schema has {shown(reference)} where a URI is expected")


def _names(node: dict[str, Any]) -> Iterator[str]:
    name = _id(node)
    if name is not None:
        yield name
    for key in ("$anchor", "$dynamicAnchor"):
        anchor = node.get(key)
        if isinstance(anchor, str):
            yield f"#{anchor}"


def _id(node: Any) -> str | None:
    found = node.get("$id", node.get("id")) if isinstance(node, dict) else None
    return found if isinstance(found, str) else None


def _parsed(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        refuse(f"{what} has too many levels")
    except ValueError as error:
        refuse(f"{what} is not JSON: {error}")
