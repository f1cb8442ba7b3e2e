"""Schemas as a registry has them: texts that may refer to others by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

SchemaType = Literal["AVRO", "PROTOBUF", "JSON"]
TYPES: Final[tuple[SchemaType, ...]] = ("AVRO", "PROTOBUF", "JSON")


@dataclass(frozen=True)
class SchemaReference:
    """What a schema refers to. ``name``: as its text names it; ``subject`` and ``version``: what the registry has.

    ``group``: of the artifact ``subject``, in Apicurio's own API.
    """

    name: str
    subject: str
    version: str
    group: str = ""

    @property
    def place(self) -> tuple[str, str, str]:
        """Where the registry has it."""
        return self.group, self.subject, self.version

    def __str__(self) -> str:
        return f"{self.subject!r} version {self.version}"


@dataclass(frozen=True)
class SchemaText:
    """One schema. ``type`` is None where the API does not say it: the converter knows.

    ``rules``: the types of the rules that the schema has for its data, such as ``ENCRYPT``.
    """

    type: SchemaType | None
    text: str
    references: tuple[SchemaReference, ...] = ()
    rules: tuple[str, ...] = ()


@dataclass(frozen=True)
class RegisteredSchema:
    """A schema with all that it refers to, in an order in which each comes after those that it refers to itself."""

    schema: SchemaText
    referenced: tuple[tuple[SchemaReference, SchemaText], ...] = ()

    @property
    def characters(self) -> int:
        """The length of all texts."""
        return len(self.schema.text) + sum(len(one.text) for _, one in self.referenced)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        referenced = [[_reference_json(name), _text_json(text)] for name, text in self.referenced]
        return {"schema": _text_json(self.schema), "referenced": referenced}

    @classmethod
    def from_json(cls, fields: Any) -> RegisteredSchema:
        """Read what ``to_json`` wrote. Raises ValueError, TypeError, KeyError."""
        referenced = ((_reference_of(name), _text_of(text)) for name, text in fields["referenced"])
        return cls(_text_of(fields["schema"]), tuple(referenced))


def type_of(name: object) -> SchemaType | None:
    """Return the type that a registry names. Raises ValueError for one that floe does not know."""
    if name is None:
        return None
    if name not in TYPES:
        msg = f"its type is {name!r}: floe reads {', '.join(TYPES)}"
        raise ValueError(msg)
    return name


def _text_json(one: SchemaText) -> dict[str, Any]:
    references = [_reference_json(reference) for reference in one.references]
    return {"type": one.type, "text": one.text, "references": references, "rules": list(one.rules)}


def _text_of(fields: Any) -> SchemaText:
    references = tuple(_reference_of(one) for one in fields["references"])
    (text,) = _texts([fields["text"]])
    return SchemaText(type_of(fields["type"]), text, references, tuple(_texts(fields["rules"])))


def _reference_json(one: SchemaReference) -> list[str]:
    return [one.name, one.subject, one.version, one.group]


def _reference_of(fields: Any) -> SchemaReference:
    return SchemaReference(*_texts(fields))


def _texts(fields: Any) -> Iterator[str]:
    for one in fields:
        if not isinstance(one, str):
            msg = f"{type(one).__name__} is not a text"
            raise TypeError(msg)
        yield one
