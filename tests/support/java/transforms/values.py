"""Values and keys made by chance: objects without a schema, structs with one, texts and bytes, with the same names."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.support.java.transforms.given import Form, Pair
from tests.support.java.transforms.setup import BYTES, SCHEMALESS, TEXT, WITH_SCHEMA
from tests.support.job.formats.envelopes import Envelopes, Raw, Schema, written

NAMES = ("a", "b", "c", "d", "e", "f", "g", "h")
"""Options name these, so that they find a field, or none."""

INTEGERS = (0, 1, -1, 7, 127, 128, -129, 32768, 2**31 - 1, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, -(2**63))
TIMES = (1_700_000_000, 1_700_000_000_123, 1_700_000_000_123_456, 1_700_000_000_123_456_789, -1, 951_868_799_999)
FLOATS = ("0.5", "0.0", "1.0", "1e10", "-1.5E-3", "3.4028235e38", "1e39", "123456789.125", "0.1", "1e-320")
TEXTS = (
    *("", "a", "true", "False", "yes", "12", " 12", "-7", "+7", "1.5", "1e3", "99999999999999999999", "NaN", "null"),
    *("snow ☃ 🍕", "straße", "\x00", '"q" \\ \n', "x" * 300, "a.b", "a,b:c", "{}", "[1]", '{"a":{"b":1},"c":[1,"x"]}'),
    *("2024-01-02", "2024-01-02T03:04:05.678Z", "2024-02-30", "03:04:05", "20240102", "2024-01-02 03:04:05"),
    *("1700000000123", "$1", "${topic}"),
)
_DAMAGED = ("[1,2]", "7", "true", '"text"', "{}", '{"a":{"b":{"c":{"d":{"e":{}}}}}}', "1.5", "[]")
_TOMBSTONES = 0.05
_RECORDS_OF_SCHEMA = 8


@dataclass
class Objects:
    """Makes JSON without schemas from one source of chance, as Python's values; numbers are ``Raw`` where their text counts.

    There is none of what Connect's JsonConverter changes: of integers beyond 64 bits it keeps the last 64, and -0.0 loses its
    sign.
    """

    random: Random

    def object(self, depth: int = 0) -> dict[str, Any]:
        """Make an object with some of the names."""
        pick = self.random
        names = pick.sample(NAMES, pick.randrange(len(NAMES) + 1) if depth == 0 else pick.randrange(4))
        return {name: self.value(depth + 1) for name in names}

    def value(self, depth: int) -> Any:
        """Make any value; deep ones hold no others."""
        pick = self.random
        kind = pick.choice(
            (*("integer", "integer", "text", "text", "float", "boolean", "null"), *("object", "list") * (depth < 4))
        )
        if kind == "object":
            return self.object(depth)
        if kind == "list":
            return [self.value(depth + 1) for _ in range(pick.randrange(4))]
        if kind == "integer":
            return pick.choice((*INTEGERS, *TIMES, pick.randrange(-(2**63), 2**63)))
        if kind == "float":
            return Raw(pick.choice((*FLOATS, repr(pick.uniform(-1e6, 1e6)))))
        return {"text": pick.choice(TEXTS), "boolean": pick.random() < 0.5, "null": None}[kind]

    def text(self) -> bytes:
        """Make a whole value; a few are no objects."""
        if self.random.random() < 0.06:
            return self.random.choice(_DAMAGED).encode()
        return written(self.object()).encode()

    def key(self) -> bytes | None:
        """Make a key: an object, a text, a number, or null."""
        pick = self.random
        chosen = pick.choice(("object", "object", "text", "number", "none"))
        if chosen == "object":
            return self.text()
        given = json.dumps(pick.choice(TEXTS)) if chosen == "text" else str(pick.choice(INTEGERS))
        return None if chosen == "none" else given.encode()


def struct(envelopes: Envelopes, *, at_least: int = 0, **properties: Any) -> Schema:
    """Make the schema of a struct with some of the names, of any types."""
    pick = envelopes.random
    names = pick.sample(NAMES, pick.randrange(at_least, len(NAMES) + 1))
    fields = [{**envelopes.type(pick.choice((1, 2, 3))), "field": name} for name in names]
    return {"type": "struct", "fields": fields, "optional": pick.random() < 0.3, **properties}


def present(envelopes: Envelopes, schema: Schema) -> Any:
    """Make a value of a schema that is not null."""
    return envelopes.value({**schema, "optional": False})


def _objects(random: Random, count: int) -> list[Pair]:
    made = Objects(random)
    return [(made.key(), None if random.random() < _TOMBSTONES else made.text()) for _ in range(count)]


def _structs(random: Random, count: int) -> list[Pair]:
    made = Envelopes(random)
    pairs: list[Pair] = []
    while len(pairs) < count:
        key_schema, schema = (struct(made) if random.random() < 0.85 else made.type(1) for _ in range(2))
        if schema["type"] == "struct" and random.random() < 0.2:
            schema |= {"name": "some.Name", "version": 3}
        for _ in range(min(_RECORDS_OF_SCHEMA, count - len(pairs))):
            key = None if random.random() < 0.1 else made.record(key_schema, present(made, key_schema))
            value = None if random.random() < _TOMBSTONES else made.record(schema, present(made, schema))
            pairs.append((key, value))
    return pairs


def _texts(random: Random, count: int) -> list[Pair]:
    """Make texts, most of them JSON."""
    made = Objects(random)

    def text() -> bytes:
        return made.text() if random.random() < 0.7 else random.choice(TEXTS).encode()

    return [(random.choice(TEXTS).encode(), None if random.random() < _TOMBSTONES else text()) for _ in range(count)]


def _bytes(random: Random, count: int) -> list[Pair]:
    return [
        (random.randbytes(random.randrange(5)), None if random.random() < _TOMBSTONES else random.randbytes(9))
        for _ in range(count)
    ]


FORMS: dict[str, Form] = {
    "objects": Form(SCHEMALESS, SCHEMALESS, _objects),
    "structs": Form(WITH_SCHEMA, WITH_SCHEMA, _structs),
    "texts": Form(TEXT, TEXT, _texts),
    "bytes": Form(BYTES, BYTES, _bytes),
}
"""What values and keys are, by name."""
