"""Change events of MongoDB as Debezium has them: states are texts, of documents in Extended JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.support.java.transforms.changes import envelope_schema
from tests.support.java.transforms.given import Form, Pair
from tests.support.java.transforms.setup import SCHEMALESS, WITH_SCHEMA
from tests.support.java.transforms.values import NAMES, TEXTS
from tests.support.job.formats.envelopes import Envelopes, Schema

_TOMBSTONES = 0.08
_RARITY = 0.01
_JSON = "io.debezium.data.Json"
_KEY: Schema = {
    "type": "struct",
    "name": "server.inventory.customers.Key",
    "fields": [{"type": "string", "field": "id"}],
}
_ODD = ("", "null", "7", "[1]", "{", '{"_id":1}', '{"a":{"$x":1}}', '{"$oid":"x"}', "{}")


@dataclass
class Documents:
    """Makes documents from one source of chance.

    ``is_uniform``: the elements of an array have one type, and a field has it in every document.
    """

    random: Random
    is_uniform: bool = True

    def document(self, depth: int = 0) -> dict[str, Any]:
        """Make a document with some of the names."""
        pick = self.random
        names = pick.sample(NAMES, pick.randrange(len(NAMES) + 1) if depth == 0 else pick.randrange(1, 4))
        identity = {} if depth else {"_id": self.identity()}
        return identity | {name: self.value(depth + 1) for name in names}

    def identity(self) -> Any:
        """Make an _id."""
        pick = self.random
        kinds = (f"{pick.randrange(2**96):024x}", pick.randrange(100), "text")
        return pick.choice(({"$oid": kinds[0]}, {"$oid": kinds[0]}, *kinds[1:]))

    def value(self, depth: int) -> Any:
        """Make any value; deep ones hold no others."""
        if self.random.random() < _RARITY:
            return self.random.choice(list(_RARE.values()))(self.random)
        kind = self.random.choice((*_LEAVES, *("document", "array") * (2 * (depth < 4))))
        if kind == "document":
            return self.document(depth)
        if kind == "array":
            return self._array(depth)
        return _LEAVES[kind](self.random)

    def _array(self, depth: int) -> list[Any]:
        size = self.random.randrange(4)
        if not self.is_uniform:
            return [self.value(depth + 1) for _ in range(size)]
        make = _LEAVES[self.random.choice(list(_LEAVES))]
        return [make(self.random) for _ in range(size)]


_LEAVES: dict[str, Callable[[Random], Any]] = {
    "null": lambda pick: None,
    "boolean": lambda pick: pick.random() < 0.5,
    "int": lambda pick: pick.choice((0, -1, 2**31 - 1, {"$numberInt": "7"})),
    "long": lambda pick: {"$numberLong": str(pick.randrange(-(2**63), 2**63))},
    "double": lambda pick: pick.choice((0.5, -0.0, {"$numberDouble": "NaN"}, {"$numberDouble": "-Infinity"}, 1e300)),
    "decimal": lambda pick: {"$numberDecimal": pick.choice(("1.50", "-7", "1E+3", "NaN", "0.00"))},
    "text": lambda pick: pick.choice(TEXTS),
    "date": lambda pick: {"$date": pick.choice((1_700_000_000_123, -1, "2024-01-02T03:04:05.678Z"))},
    "time": lambda pick: {"$timestamp": {"t": pick.randrange(2**31), "i": pick.randrange(9)}},
    "binary": lambda pick: {"$binary": pick.choice(("aGk=", "")), "$type": "00"},
    "oid": lambda pick: {"$oid": f"{pick.randrange(2**96):024x}"},
}
_RARE: dict[str, Callable[[Random], Any]] = {
    "pattern": lambda pick: {"$regex": "a.*", "$options": "i"},
    "least": lambda pick: {"$minKey": 1},
    "code": lambda pick: {"$code": "x()"},
    "symbol": lambda pick: {"$symbol": "s"},
}
"""Types that the Java classes refuse."""


def _event(made: Documents) -> dict[str, Any]:
    random = made.random
    op = random.choice("ccuuudr")

    def state() -> str:
        return random.choice(_ODD) if random.random() < 0.04 else json.dumps(made.document(), ensure_ascii=False)

    update = {
        "removedFields": random.choice((None, ["a"], ["b", "c.d"])),
        "updatedFields": random.choice((None, state())),
        "truncatedArrays": None,
    }
    return {
        "before": state() if op in "ud" and random.random() < 0.5 else None,
        "after": state() if op in "cr" or (op == "u" and random.random() < 0.7) else None,
        "updateDescription": update if op == "u" and random.random() < 0.7 else None,
        "source": {
            "version": "3.0.8.Final",
            "connector": "mongodb",
            "name": "server",
            "ts_ms": random.randrange(1_700_000_000_000, 1_800_000_000_000),
            "snapshot": "false",
            "db": "inventory",
            "collection": random.choice(("customers", "orders")),
        },
        "op": op,
        "ts_ms": random.choice((None, 1_700_000_000_123)),
        "transaction": None,
    }


def _schema() -> Schema:
    states = [
        {"type": "string", "optional": True, "name": _JSON, "version": 1, "field": n} for n in ("before", "after")
    ]
    texts = {"type": "array", "optional": True, "items": {"type": "string"}, "field": "removedFields"}
    updated = {"type": "string", "optional": True, "name": _JSON, "version": 1, "field": "updatedFields"}
    truncated = {"type": "array", "optional": True, "items": {"type": "string"}, "field": "truncatedArrays"}
    description = {
        "type": "struct",
        "optional": True,
        "name": "io.debezium.connector.mongodb.changestream.updatedescription",
        "version": 1,
        "fields": [texts, updated, truncated],
        "field": "updateDescription",
    }
    whole = envelope_schema("server.inventory.customers.Envelope", *states, description)
    kinds = {"ts_ms": "int64"}
    names = ("version", "connector", "name", "ts_ms", "snapshot", "db", "collection")
    parts = [{"type": kinds.get(n, "string"), "optional": n == "snapshot", "field": n} for n in names]
    source = {"name": "io.debezium.connector.mongo.Source", "type": "struct", "field": "source", "fields": parts}
    fields = [source if field["field"] == "source" else field for field in whole["fields"]]
    return {**whole, "fields": fields}


def _typed(random: Random, count: int) -> list[Pair]:
    envelopes, made, schema = Envelopes(random), Documents(random, is_uniform=random.random() < 0.7), _schema()

    def value() -> bytes | None:
        return None if random.random() < _TOMBSTONES else envelopes.record(schema, _event(made))

    def key() -> bytes | None:
        return None if random.random() < 0.05 else envelopes.record(_KEY, {"id": json.dumps(made.identity())})

    return [(key(), value()) for _ in range(count)]


def _plain(random: Random, count: int) -> list[Pair]:
    made = Documents(random, is_uniform=False)

    def value() -> bytes | None:
        return None if random.random() < _TOMBSTONES else json.dumps(_event(made)).encode()

    return [(json.dumps({"id": json.dumps(made.identity())}).encode(), value()) for _ in range(count)]


FORMS: dict[str, Form] = {
    "mongodb objects": Form(SCHEMALESS, SCHEMALESS, _plain),
    "mongodb structs": Form(WITH_SCHEMA, WITH_SCHEMA, _typed),
}
"""What values and keys are, by name."""
