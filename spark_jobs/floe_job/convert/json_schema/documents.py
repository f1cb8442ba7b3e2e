"""The texts of a schema and of what it refers to, and what ``$ref`` means in them (JSON Schema, draft 7, section 8).

Nothing is fetched: a reference is to a part of the schema, or to a reference that the registry has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from floe.registry.schema import RegisteredSchema
from floe_job.convert.json_schema.nodes import MAX_DEPTH, refuse, shown

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
