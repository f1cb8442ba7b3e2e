"""Reading a schema with all schemas that it refers to, within bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NoReturn

from floe.schema_registry.exceptions import SchemaRefused
from floe.schema_registry.schema import RegisteredSchema, SchemaReference, SchemaText

MAX_DEPTH: Final = 50
MAX_SCHEMAS: Final = 500
MAX_CHARACTERS: Final = 16 * 1024 * 1024


def with_references(
    schema: SchemaText, read: Callable[[SchemaReference], SchemaText | None], label: int | str
) -> RegisteredSchema:
    """Return the schema with those that it refers to, each read once, also if they refer to one another.

    ``label``: the schema's id, for messages. Raises UnusableSchema for one that is missing and for too many.
    """
    walk = _Walk(read, label)
    walk.count(schema)
    walk.visit(schema, 1)
    return RegisteredSchema(schema, tuple(walk.found))


@dataclass
class _Walk:
    read: Callable[[SchemaReference], SchemaText | None]
    label: int | str
    found: list[tuple[SchemaReference, SchemaText]] = field(default_factory=list)
    _texts: dict[tuple[str, str, str], SchemaText] = field(default_factory=dict)
    _seen: set[SchemaReference] = field(default_factory=set)
    _characters: int = 0

    def visit(self, schema: SchemaText, depth: int) -> None:
        for reference in schema.references:
            if reference in self._seen:
                continue
            self._seen.add(reference)
            if depth > MAX_DEPTH or len(self._seen) > MAX_SCHEMAS:
                self._refuse(f"it refers to more than {MAX_SCHEMAS} others, or to others over {MAX_DEPTH} levels")
            text = self._text(reference)
            self.visit(text, depth + 1)
            self.found.append((reference, text))

    def count(self, schema: SchemaText) -> None:
        self._characters += len(schema.text)
        if self._characters > MAX_CHARACTERS:
            self._refuse(f"with all that it refers to, it has more than {MAX_CHARACTERS} characters")

    def _text(self, reference: SchemaReference) -> SchemaText:
        """Read the text; other names of the same schema do not read it again."""
        if reference.place not in self._texts:
            text = self.read(reference)
            if text is None:
                self._refuse(f"it refers to {reference}, which the registry does not have")
            self.count(text)
            self._texts[reference.place] = text
        return self._texts[reference.place]

    def _refuse(self, why: str) -> NoReturn:
        msg = f"schema {self.label} cannot be used: {why}"
        raise SchemaRefused(msg, self.label)
