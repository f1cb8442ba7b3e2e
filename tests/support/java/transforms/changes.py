"""Change events made by chance: Debezium's of a table, with and without schemas, and those of AWS DMS."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.support.java.transforms.given import Form, Pair
from tests.support.java.transforms.setup import SCHEMALESS, WITH_SCHEMA
from tests.support.java.transforms.values import Objects, present, struct
from tests.support.job.formats.envelopes import Envelopes, Schema, written

OPS = (*"cccc", *"uuuu", *"ddd", "r", "r", "t", "m")
_TABLES = (
    ("inventory", "public", "customers"),
    ("inventory", "public", "orders"),
    ("db", "", "t"),
    ("é", "s.x", "a b"),
)
_TOMBSTONES = 0.08
_HEARTBEATS = 0.04
_DAMAGED = 0.08
_RECORDS_OF_TABLE = 12
_BLOCK = ("id", "total_order", "data_collection_order")


def source(random: Random) -> dict[str, Any]:
    """Make the source of an event."""
    database, schema, table = random.choice(_TABLES)
    return {
        "version": "3.3.1.Final",
        "connector": random.choice(("postgresql", "mysql")),
        "name": "server",
        "ts_ms": random.randrange(1_700_000_000_000, 1_800_000_000_000),
        "snapshot": random.choice(("false", "true", "last", None)),
        "db": database,
        "schema": schema or None,
        "table": table,
        "lsn": random.choice((None, random.randrange(2**40))),
    }


def event(random: Random, row: Any) -> dict[str, Any]:
    """Make an event; ``row``: makes the state of a row."""
    op = random.choice(OPS)
    made: dict[str, Any] = {
        "before": row() if op in "ud" and random.random() < 0.8 else None,
        "after": row() if op in "cur" else None,
        "source": source(random),
        "op": op,
        "ts_ms": random.choice((*[random.randrange(2_000_000_000_000)] * 9, None)),
        "transaction": random.choice((None, None, dict(zip(_BLOCK, ("571", 1, 2), strict=True)))),
    }
    if op == "m":
        made |= {"message": {"prefix": "p", "content": "aGk="}}
    return made


def _damaged(random: Random, given: dict[str, Any]) -> dict[str, Any]:
    """Take something away, or put something else there."""
    name = random.choice(("before", "after", "source", "op", "ts_ms"))
    others = {key: one for key, one in given.items() if key != name}
    return others if random.random() < 0.5 else {**others, name: random.choice((None, "x", 7, [], {}, True))}


# -- Debezium without schemas -----------------------------------------------------------------------------------------


def _events(random: Random, count: int) -> list[Pair]:
    objects = Objects(random)

    def value() -> bytes | None:
        chance = random.random()
        if chance < _TOMBSTONES:
            return None
        if chance < _TOMBSTONES + _HEARTBEATS:
            return b'{"ts_ms":1700000000123}'
        given = event(random, objects.object)
        return written(_damaged(random, given) if random.random() < _DAMAGED else given).encode()

    return [(objects.key(), value()) for _ in range(count)]


# -- Debezium with schemas --------------------------------------------------------------------------------------------


def _optional(kind: str, name: str) -> Schema:
    return {"type": kind, "optional": True, "field": name}


def source_schema() -> Schema:
    """Return the schema of ``source``."""
    kinds = {"ts_ms": "int64", "lsn": "int64"}
    names = ("version", "connector", "name", "ts_ms", "snapshot", "db", "schema", "table", "lsn")
    fields = [_optional(kinds.get(name, "string"), name) for name in names]
    return {"type": "struct", "name": "io.debezium.connector.postgresql.Source", "fields": fields, "field": "source"}


def block_schema() -> Schema:
    """Return the schema of ``transaction``."""
    kinds = ("string", "int64", "int64")
    fields = [{"type": kind, "field": name} for kind, name in zip(kinds, _BLOCK, strict=True)]
    found = {"type": "struct", "name": "event.block", "version": 1, "optional": True, "fields": fields}
    return {**found, "field": "transaction"}


def envelope_schema(name: str, *states: Schema) -> Schema:
    """Return the schema of events; ``states``: those of before and after, and of what else there is."""
    fields = [*states, source_schema(), {"type": "string", "field": "op"}, _optional("int64", "ts_ms"), block_schema()]
    return {"type": "struct", "name": name, "version": 2, "fields": fields}


def _message_schema() -> Schema:
    parts = [_optional("string", "prefix"), _optional("bytes", "content")]
    return {"type": "struct", "optional": True, "fields": parts, "field": "message", "name": "io.debezium.Message"}


_HEARTBEAT: Schema = {
    "type": "struct",
    "name": "io.debezium.connector.common.Heartbeat",
    "fields": [{"type": "int64", "field": "ts_ms"}],
}


def _typed_events(random: Random, count: int) -> list[Pair]:
    made = Envelopes(random)
    pairs: list[Pair] = []
    while len(pairs) < count:
        pairs += _events_of_a_table(made, min(_RECORDS_OF_TABLE, count - len(pairs)))
    return pairs


_COLUMNS = {
    **dict.fromkeys(
        ("io.debezium.time.Timestamp", "io.debezium.time.MicroTimestamp", "io.debezium.time.MicroTime"), "int64"
    ),
    **dict.fromkeys(("io.debezium.time.Date", "io.debezium.time.Year"), "int32"),
    **dict.fromkeys(("io.debezium.time.ZonedTimestamp", "io.debezium.data.Uuid", "io.debezium.data.Json"), "string"),
}
"""Debezium's types of columns, and those of their values."""


def _events_of_a_table(made: Envelopes, count: int) -> list[Pair]:
    random = made.random
    table = random.choice(("server.public.orders", "server.inventory.customers"))
    key_schema = struct(made, at_least=1, name=f"{table}.Key", optional=False)
    row_schema = struct(made, at_least=1, name=f"{table}.Value", optional=True)
    for name in random.sample(tuple(_COLUMNS), random.randrange(3)):
        kind = {"type": _COLUMNS[name], "name": name, "version": 1, "optional": random.random() < 0.5}
        row_schema["fields"].append({**kind, "field": name.rpartition(".")[2]})
    states = [{**row_schema, "field": name} for name in ("before", "after")]
    more = [_message_schema()] * (random.random() < 0.3)
    name = f"{table}.{random.choice(('Envelope', 'Envelope', 'Envelope', 'Envelope', 'Other'))}"
    schema = envelope_schema(name, *states, *more)

    def value() -> bytes | None:
        chance = random.random()
        if chance < _TOMBSTONES:
            return None
        if chance < _TOMBSTONES + _HEARTBEATS:
            return made.record(_HEARTBEAT, {"ts_ms": 1_700_000_000_123})
        given = event(random, lambda: present(made, row_schema))
        if random.random() < _DAMAGED:
            given |= random.choice(({"op": "x"}, {"after": None}, {"before": None}, {"op": ""}))
        if not more:  # floe rejects a field that its schema does not have, and Java leaves it out
            given.pop("message", None)
        return made.record(schema, given)

    def key() -> bytes | None:
        return None if random.random() < 0.05 else made.record(key_schema, present(made, key_schema))

    return [(key(), value()) for _ in range(count)]


# -- AWS DMS ----------------------------------------------------------------------------------------------------------


def _dms(random: Random, count: int) -> list[Pair]:
    objects = Objects(random)

    def value() -> bytes | None:
        if random.random() < _TOMBSTONES:
            return None
        _, schema, table = random.choice(_TABLES)
        metadata = {
            "timestamp": random.choice(
                ("2024-01-02T03:04:05.678901Z", "2024-01-02T03:04:05+02:00", "1970-01-01T00:00:00Z")
            ),
            "record-type": random.choice(("data", "data", "control")),
            "operation": random.choice(("load", "insert", "update", "delete", "create-table", "")),
            "partition-key-type": "primary-key",
            "schema-name": schema,
            "table-name": table,
        }
        given: dict[str, Any] = {"data": objects.object(), "metadata": metadata}
        if random.random() < 2 * _DAMAGED:
            part = random.choice((metadata, metadata, given))
            name = random.choice(list(part))
            del part[name]
            part |= {name: random.choice((None, "x", 7, [], {}))} if random.random() < 0.6 else {}
        return written(given).encode()

    return [(objects.key(), value()) for _ in range(count)]


FORMS: dict[str, Form] = {
    "debezium objects": Form(SCHEMALESS, SCHEMALESS, _events),
    "debezium structs": Form(WITH_SCHEMA, WITH_SCHEMA, _typed_events),
    "dms": Form(SCHEMALESS, SCHEMALESS, _dms),
}
"""What values and keys are, by name."""
