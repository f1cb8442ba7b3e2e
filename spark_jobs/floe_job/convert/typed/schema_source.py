"""Where decoders have their schemas from: a schema registry, by the id in a record."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from floe.schema_registry import exceptions as registry
from floe.schema_registry.schema import RegisteredSchema, SchemaType
from floe_job.convert.guids import name_of_schema
from floe_job.exceptions import UnknownSchema, UnusableSchema

SchemaSource = Callable[[int], RegisteredSchema]
"""Returns the schema of an id, as ``floe.schema_registry.client.SchemaRegistry.schema`` does, with its errors."""

ENCRYPTED: Final = "ENCRYPT"
"""How the types of rules begin by which values are encrypted."""

MAX_COMPILED: Final = 1_000
"""Schemas that are kept compiled, of one decoder."""

TOO_DEEP: Final = "a value in the schema is nested too deep"
"""Python reads JSON of some levels that it can neither walk through nor write."""

_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")

Key = TypeVar("Key")
Decoder = TypeVar("Decoder")
Found = TypeVar("Found")


class CompiledSchema(Generic[Key, Found]):
    """What is made of schemas, or why it cannot be: made once, and kept for the MAX_COMPILED that were used last."""

    def __init__(self, make: Callable[[Key], Found]) -> None:
        """``make`` raises UnusableSchema where nothing can be made; what else it raises is not kept."""
        self._make = make
        self._made: OrderedDict[Key, Found] = OrderedDict()
        self._problems: OrderedDict[Key, str] = OrderedDict()

    def of(self, key: Key) -> Found:
        """Return what was made. Raises UnusableSchema, a new one each time, and what ``make`` raises."""
        if key in self._problems:
            # an error keeps the frames, and so the batches, of all that raised it
            self._problems.move_to_end(key)
            raise UnusableSchema(self._problems[key])
        if key not in self._made:
            try:
                _keep(self._made, key, self._make(key))
            except UnusableSchema as error:
                _keep(self._problems, key, str(error))
                raise
        self._made.move_to_end(key)
        return self._made[key]


def compiled_by_id(
    source: SchemaSource, kind: SchemaType, compile_: Callable[[RegisteredSchema], Decoder]
) -> CompiledSchema[int, Decoder]:
    """Return what is made of the schemas of a registry, by id.

    Of an id, ``UnknownSchema`` is raised too, and what the registry raises.
    """

    def make(schema_id: int) -> Decoder:
        schema = schema_of_type(source, schema_id, kind)
        try:
            for text in (schema.schema.text, *(one.text for _, one in schema.referenced)):
                check_unicode(text)
            return compile_(schema)
        except UnusableSchema as error:
            problem = f"schema {name_of_schema(schema_id)}: {error}"
            raise UnusableSchema(problem) from None
        except RecursionError:
            problem = f"schema {schema_id}: {TOO_DEEP}"
            raise UnusableSchema(problem) from None

    return CompiledSchema(make)


def schema_of_type(source: SchemaSource, schema_id: int, kind: SchemaType) -> RegisteredSchema:
    """Return the schema of an id.

    Raises UnknownSchema, and UnusableSchema for one of another type and for encrypted values. What else the registry
    raises ends the task.
    """
    try:
        found = source(schema_id)
    except registry.SchemaMissing as error:
        raise UnknownSchema(str(error)) from None
    except registry.SchemaRefused as error:
        raise UnusableSchema(str(error)) from None
    if found.schema.type not in (None, kind):
        problem = (
            f"schema {name_of_schema(schema_id)}: it is of the type {found.schema.type}, and the converter reads {kind}"
        )
        raise UnusableSchema(problem)
    if any(rule.startswith(ENCRYPTED) for rule in found.schema.rules):
        problem = (
            f"schema {name_of_schema(schema_id)}: by its rules its values are encrypted, and floe does not decrypt them"
        )
        raise UnusableSchema(problem)
    return found


def _keep(kept: OrderedDict[Key, Found], key: Key, value: Found) -> None:
    kept[key] = value
    if len(kept) > MAX_COMPILED:
        kept.popitem(last=False)


def check_unicode(text: str) -> None:
    """Check that JSON has no half of a surrogate pair, as it is or escaped. Raises UnusableSchema."""
    if not _has_half_a_pair(text):
        return
    problem = "the schema has a name or a text that is not Unicode: one half of a surrogate pair"
    raise UnusableSchema(problem)


def _has_half_a_pair(text: str) -> bool:
    if not _is_unicode(text):
        return True
    if not _SURROGATE.search(text):
        return False
    try:
        written = json.dumps(json.loads(text), ensure_ascii=False)
    except (ValueError, RecursionError):
        return False  # what reads it says so
    return not _is_unicode(written)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
