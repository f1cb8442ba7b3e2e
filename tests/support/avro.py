"""Random Avro schemas, values of them, and their bytes, written in all the ways that Avro allows."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID

Schema = Any
"""A schema as JSON."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LOGICAL: dict[str, tuple[str, int, int]] = {
    "date": ("int", -719162, 2932896),
    "time-millis": ("int", 0, 86_399_999),
    "time-micros": ("long", 0, 86_399_999_999),
    "timestamp-millis": ("long", -62_135_596_800_000, 253_402_300_799_999),
    "timestamp-micros": ("long", -62_135_596_800_000_000, 253_402_300_799_999_999),
    "local-timestamp-millis": ("long", -62_135_596_800_000, 253_402_300_799_999),
    "local-timestamp-micros": ("long", -62_135_596_800_000_000, 253_402_300_799_999_999),
}
"""The type, the least and the largest value of logical types of whole numbers."""

PLAIN = ("int", "long", "float", "double", "boolean", "string", "bytes")
NESTED = ("array", "map", "record", "option", "union", "entries")
TEXTS = ("", "a", "é", "snow ☃ and 🍕", "x" * 200, "\x00", "abc" * 9)


@dataclass(frozen=True)
class Branch:
    """A value of a union."""

    number: int
    value: Any


@dataclass
class Schemas:
    """Makes schemas, values and bytes from one source of chance."""

    random: Random
    _names: int = field(default=0)
    _made: list[Schema] = field(default_factory=list)

    def record(self, depth: int = 0) -> Schema:
        """Make the schema of a record."""
        name = self._name("R")
        count = self.random.randrange(0 if depth else 1, 5)
        fields = [{"name": f"f{i}", "type": self.type(depth + 1)} for i in range(count)]
        self._made.append(name)
        return {"type": "record", "name": name, "fields": fields}

    def type(self, depth: int) -> Schema:
        """Make a schema of any type."""
        kinds = (*PLAIN, *LOGICAL, "enum", "fixed", "decimal", "fixed decimal", "uuid", "again")
        kind = self.random.choice((*kinds, *NESTED * 3) if depth < 4 else kinds)
        if kind in PLAIN:
            return kind
        if kind in LOGICAL:
            return {"type": LOGICAL[kind][0], "logicalType": kind}
        if kind == "again":
            return self.random.choice(self._made) if self._made else "long"
        return getattr(self, "_" + kind.replace(" ", "_"))(depth)

    def _name(self, letter: str) -> str:
        self._names += 1
        return f"{letter}{self._names}"

    def _enum(self, depth: int) -> Schema:
        name = self._name("E")
        self._made.append(name)
        return {"type": "enum", "name": name, "symbols": ["RED", "GREEN", "BLUE"]}

    def _fixed(self, depth: int) -> Schema:
        name = self._name("F")
        self._made.append(name)
        return {"type": "fixed", "name": name, "size": self.random.choice([0, 1, 5, 16])}

    def _decimal(self, depth: int) -> Schema:
        return {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": self.random.choice([0, 2, 38])}

    def _fixed_decimal(self, depth: int) -> Schema:
        name, size = self._name("D"), self.random.choice([1, 7, 8, 9, 16, 20])
        precision = min(38, (8 * size - 1) * 301 // 1000)
        return {
            "type": "fixed",
            "name": name,
            "size": size,
            "logicalType": "decimal",
            "precision": precision,
            "scale": 2,
        }

    def _uuid(self, depth: int) -> Schema:
        return {"type": "string", "logicalType": "uuid"}

    def _array(self, depth: int) -> Schema:
        return {"type": "array", "items": self.type(depth + 1)}

    def _map(self, depth: int) -> Schema:
        return {"type": "map", "values": self.type(depth + 1)}

    def _record(self, depth: int) -> Schema:
        return self.record(depth)

    def _entries(self, depth: int) -> Schema:
        fields = [{"name": "key", "type": self.random.choice(PLAIN)}, {"name": "value", "type": self.type(depth + 1)}]
        self.random.shuffle(fields)
        entry = {"type": "record", "name": self._name("M"), "connect.internal.type": "MapEntry", "fields": fields}
        return {"type": "array", "items": entry}

    def _option(self, depth: int) -> Schema:
        made = list(self._made)
        while isinstance(inner := self.type(depth + 1), list):
            self._made = list(made)  # what is declared in there is not declared
        return self.random.choice([["null", inner], [inner, "null"]])

    def _union(self, depth: int) -> Schema:
        branches: list[Schema] = self.random.sample(["null", "string", "long", "double", "boolean"], 3)
        branches += [self.record(depth + 1), {"type": "map", "values": "int"}]
        self.random.shuffle(branches)
        return branches


@dataclass
class Values:
    """Makes values of one schema, and their bytes. Numbers are as they are written, before their logical type."""

    random: Random
    named: dict[str, Schema] = field(default_factory=dict)

    def resolve(self, schema: Schema) -> Schema:
        """Return the schema of a name."""
        if isinstance(schema, str) and schema in self.named:
            return self.named[schema]
        if isinstance(schema, dict) and "name" in schema:
            self.named[schema["name"]] = schema
        return schema

    def learn(self, schema: Schema) -> None:
        """Take up all names that are declared in a schema."""
        schema = self.resolve(schema)
        inner = schema if isinstance(schema, list) else []
        if isinstance(schema, dict):
            inner = [schema[key] for key in ("items", "values") if key in schema]
            inner += [one["type"] for one in schema.get("fields", ())]
        for one in inner:
            if not isinstance(one, str):
                self.learn(one)

    def value(self, schema: Schema) -> Any:
        """Make a value."""
        schema = self.resolve(schema)
        pick = self.random
        if isinstance(schema, list):
            number = pick.randrange(len(schema))
            return Branch(number, self.value(schema[number]))
        kind = schema if isinstance(schema, str) else schema["type"]
        logical = None if isinstance(schema, str) else schema.get("logicalType")
        if logical in LOGICAL:
            _, least, most = LOGICAL[logical]
            return pick.choice([least, most, 0, pick.randint(least, most)])
        if logical == "decimal":
            most = 10 ** pick.randint(0, schema["precision"]) - 1
            return pick.choice([most, -most, pick.randint(-most, most)])
        if logical == "uuid":
            return str(UUID(int=pick.getrandbits(128)))
        if kind == "array":
            return [self.value(schema["items"]) for _ in range(self._count())]
        if kind == "map":
            return [(pick.choice("abcé") + str(i // 2), self.value(schema["values"])) for i in range(self._count())]
        if kind == "record":
            return {one["name"]: self.value(one["type"]) for one in schema["fields"]}
        if kind == "fixed":
            return pick.randbytes(schema["size"])
        if kind == "enum":
            return pick.choice(schema["symbols"])
        return self._primitive(kind)

    def _count(self) -> int:
        return self.random.choice([0, 0, 1, 2, 3, 3, 5, 30])

    def _primitive(self, kind: str) -> Any:
        pick = self.random
        bits = {"int": 31, "long": 63}.get(kind, 0)
        choices: dict[str, list[Any]] = {
            "int": [0, -1, 63, 64, -65, 2**31 - 1, -(2**31)],
            "long": [0, -1, 2**63 - 1, -(2**63), pick.randint(-(2**40), 2**40)],
            "float": [0.0, -0.5, float(2**99), struct.unpack("<f", struct.pack("<f", pick.random()))[0]],
            "double": [0.1, -1e300, pick.random(), float("inf")],
            "boolean": [True, False],
            "string": [*TEXTS, pick.choice(TEXTS) + pick.choice(TEXTS)],
            "bytes": [b"", b"\xff\x00", pick.randbytes(pick.randrange(40))],
            "null": [None],
        }
        sized = [pick.randint(-(2 ** pick.randint(0, bits)), 2 ** pick.randint(0, bits) - 1)] if bits else []
        return pick.choice(choices[kind] + sized)

    def encode(self, schema: Schema, value: Any) -> bytes:
        """Write a value; arrays and maps in as many blocks as chance says, with their sizes or without."""
        schema = self.resolve(schema)
        if isinstance(schema, list):
            return varint(value.number) + self.encode(schema[value.number], value.value)
        kind = schema if isinstance(schema, str) else schema["type"]
        if kind == "record":
            return b"".join(self.encode(one["type"], value[one["name"]]) for one in schema["fields"])
        if kind == "array":
            return self._blocks([self.encode(schema["items"], one) for one in value])
        if kind == "map":
            return self._blocks([self.encode("string", k) + self.encode(schema["values"], v) for k, v in value])
        if kind == "enum":
            return varint(schema["symbols"].index(value))
        if isinstance(schema, dict) and schema.get("logicalType") == "decimal":
            size = schema.get("size") or value.bit_length() // 8 + 1
            nbytes: bytes = value.to_bytes(
                size + self.random.choice([0, 0, 1, 20]) * (kind == "bytes"), "big", signed=True
            )
            return (varint(len(nbytes)) if kind == "bytes" else b"") + nbytes
        return _primitive_bytes(kind, value)

    def _blocks(self, elements: list[bytes]) -> bytes:
        found = b""
        while elements:
            count = self.random.randint(1, len(elements))
            block, elements = b"".join(elements[:count]), elements[count:]
            found += (
                varint(-count) + varint(len(block)) + block if self.random.random() < 0.3 else varint(count) + block
            )
        return found + b"\x00"

    def read(self, schema: Schema, value: Any, *, structs: bool) -> Any:
        """Return a value as it is read. ``structs``: unions of many as Connect has them, maps as Arrow has them."""
        schema = self.resolve(schema)
        if isinstance(schema, list):
            return self._read_union(schema, value, structs=structs)
        kind = schema if isinstance(schema, str) else schema["type"]
        if kind == "record":
            return {
                one["name"]: self.read(one["type"], value[one["name"]], structs=structs) for one in schema["fields"]
            }
        if kind == "array":
            elements = [self.read(schema["items"], one, structs=structs) for one in value]
            is_map = isinstance(schema["items"], dict) and "connect.internal.type" in schema["items"]
            return _last((one["key"], one["value"]) for one in elements) if is_map and structs else elements
        if kind == "map":
            pairs = [(key, self.read(schema["values"], one, structs=structs)) for key, one in value]
            return _last(pairs) if structs else dict(pairs)
        return _logical_value(schema, value, structs=structs)

    def _read_union(self, schema: list[Schema], value: Branch, *, structs: bool) -> Any:
        chosen = schema[value.number]
        found = None if chosen == "null" else self.read(chosen, value.value, structs=structs)
        others = [one for one in schema if one != "null"]
        if not structs or chosen == "null" or len(others) == 1:
            return found
        names = [one if isinstance(one, str) else one.get("name", one["type"]) for one in others]
        return {name: found if one is chosen else None for name, one in zip(names, others, strict=True)}


def varint(number: int) -> bytes:
    """Write a number in Avro's encoding."""
    left = (number << 1) ^ (number >> 63)
    found = bytearray()
    while left > 127:
        found.append(left & 127 | 128)
        left >>= 7
    return bytes([*found, left])


def _primitive_bytes(kind: str, value: Any) -> bytes:
    if kind in ("int", "long"):
        return varint(value)
    if kind in ("float", "double"):
        return struct.pack("<f" if kind == "float" else "<d", value)
    if kind == "boolean":
        return bytes([value])
    if kind == "null":
        return b""
    nbytes: bytes = value.encode() if kind == "string" else value
    return nbytes if kind == "fixed" else varint(len(nbytes)) + nbytes


def _last(pairs: Any) -> list[tuple[Any, Any]]:
    """Keep the last value of each key, where it is."""
    found: dict[Any, Any] = {}
    for key, value in pairs:
        found.pop(_java(key), None)
        found[_java(key)] = (key, value)
    return list(found.values())


def _java(key: Any) -> Any:
    """Return what a key equals: a float by its bits."""
    return struct.pack("<d", key) if isinstance(key, float) else key


def _logical_value(schema: Schema, value: Any, *, structs: bool) -> Any:
    logical = None if isinstance(schema, str) else schema.get("logicalType")
    if logical == "decimal":
        digits = tuple(map(int, str(abs(value))))
        return Decimal((int(value < 0), digits, -schema["scale"]))
    if logical == "uuid":
        return value if structs else UUID(value)
    if logical == "date":
        return date(1970, 1, 1) + timedelta(days=value)
    if logical is None:
        return value
    moment = EPOCH + (timedelta(milliseconds=value) if logical.endswith("millis") else timedelta(microseconds=value))
    if logical.startswith("time-"):
        return time(moment.hour, moment.minute, moment.second, moment.microsecond)
    return moment.replace(tzinfo=None) if logical.startswith("local") else moment
