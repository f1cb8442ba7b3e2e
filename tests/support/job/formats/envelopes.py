"""Random envelopes of Kafka Connect: schemas, values of them, and their text, written in all the ways that JSON allows."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

DECIMAL = "org.apache.kafka.connect.data.Decimal"
DATE = "org.apache.kafka.connect.data.Date"
TIME = "org.apache.kafka.connect.data.Time"
TIMESTAMP = "org.apache.kafka.connect.data.Timestamp"

BITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
PLAIN = (*BITS, "float", "double", "boolean", "string", "bytes")
LOGICAL = {DATE: "int32", TIME: "int32", TIMESTAMP: "int64"}
NESTED = ("array", "map", "struct", "pairs")
TEXTS = ("", "a", "é", "snow ☃ and 🍕", "x" * 200, "abc" * 9, '"quoted" \\ \n', "}{][,:")
NAMES = ("a", "b", "key", "schema", "payload", "é", "a b", "x.y", '"', "\\")


class Raw(str):
    """A text that is JSON already."""

    __slots__ = ()


Schema = dict[str, Any]


@dataclass
class Envelopes:
    """Makes schemas, values and texts from one source of chance.

    ``wild``: how often a value is one that does not belong to its type.
    """

    random: Random
    wild: float = 0.0
    _fields: int = field(default=0)

    def struct(self, depth: int = 0) -> Schema:
        """Make the schema of a struct."""
        names = self.random.sample(NAMES, self.random.randrange(1, 5))
        fields = [{**self.type(depth + 1), "field": name} for name in names]
        return {"type": "struct", "fields": fields, **self._properties()}

    def type(self, depth: int) -> Schema:
        """Make a schema of any type."""
        pick = self.random
        kind = pick.choice((*PLAIN, *LOGICAL, "decimal", "decimal", *NESTED * (depth < 3)))
        if kind == "struct":
            return self.struct(depth)
        made: Schema = {"type": kind}
        if kind == "array":
            made["items"] = self.type(depth + 1)
        elif kind in ("map", "pairs"):
            key = {"type": "string"} if kind == "map" else {"type": pick.choice(["int32", "boolean", "double", "int8"])}
            made = {"type": "map", "keys": key, "values": self.type(depth + 1)}
        elif kind in LOGICAL:
            made = {"type": LOGICAL[kind], "name": kind, "version": 1}
        elif kind == "decimal":
            made = {"type": "bytes", "name": DECIMAL, "parameters": {"scale": str(pick.choice([0, 2, 10, 38]))}}
        made = {**made, **self._properties()} if kind in PLAIN else {**made, "optional": pick.random() < 0.6}
        if pick.random() < 0.3:
            made["default"] = self.value({**made, "optional": False}, depth=2)
        return made

    def _properties(self) -> Schema:
        pick = self.random
        given: Schema = {"optional": pick.choice([True, True, False])}
        if pick.random() < 0.2:
            given |= {"name": "some.Name", "version": 3, "doc": "what", "parameters": {"payload": "x", "b": "é"}}
        return given

    def value(self, schema: Schema, depth: int = 0) -> Any:
        """Make a value of a schema, or now and then another one; numbers are ``Raw``, in many spellings."""
        pick = self.random
        if self.wild and pick.random() < self.wild:
            return self._other()
        if schema.get("optional") and pick.random() < 0.25:
            return None
        kind, name = schema["type"], schema.get("name")
        if kind == "struct":
            return self._members(schema, depth)
        if kind == "array":
            return [self.value(schema["items"], depth + 1) for _ in range(pick.choice([0, 1, 2, 5]))]
        if kind == "map":
            keys = [self.value(schema["keys"]) for _ in range(pick.choice([0, 1, 2, 5]))]
            if schema["keys"]["type"] == "string":
                return {key: self.value(schema["values"], depth + 1) for key in map(str, keys)}
            return [[key, self.value(schema["values"], depth + 1)] for key in keys]
        return self._logical(schema) if name in (*LOGICAL, DECIMAL) else self._plain(kind)

    def _members(self, schema: Schema, depth: int) -> Any:
        given = {}
        for one in schema["fields"]:
            left_out = one.get("optional") or "default" in one
            if not (left_out and self.random.random() < 0.2):
                given[one["field"]] = self.value(one, depth + 1)
        if self.random.random() < 0.1:
            given["unknown"] = None  # with a value, floe rejects the record, and Java leaves the field out
        return given

    def _logical(self, schema: Schema) -> Any:
        pick = self.random
        if schema["name"] == DECIMAL:
            return self._decimal(int(schema["parameters"]["scale"]))
        limits = {DATE: (-719162, 2932896), TIME: (0, 86_399_999)}
        low, high = limits.get(schema["name"], (-62_135_596_800_000, 253_402_300_799_999))
        return Raw(pick.choice([low, high, 0, pick.randint(low, high)]))

    def _decimal(self, scale: int) -> Any:
        pick = self.random
        unscaled = pick.randint(-1, 1) * pick.randrange(10 ** pick.randint(0, 38))
        if pick.random() < 0.6:
            nbytes = unscaled.to_bytes(unscaled.bit_length() // 8 + 1 + pick.choice([0, 0, 1, 9]), "big", signed=True)
            return base64.b64encode(nbytes).decode()
        digits = str(abs(unscaled)).rjust(scale + 1, "0")
        point = f"{digits[: len(digits) - scale]}.{digits[len(digits) - scale :]}" if scale else digits
        return Raw(("-" if unscaled < 0 else "") + point)

    def _plain(self, kind: str) -> Any:
        pick = self.random
        if kind in BITS:
            limit = 1 << BITS[kind]
            number = pick.choice([0, 1, limit - 1, -limit, pick.randrange(-limit, limit)])
            forms = [str(number)] * 8 + ([f"{number}.0", f"{number}0e-1"] if number else ["0.0", "-0", "0e3"])
            return Raw(pick.choice(forms))
        if kind in ("float", "double"):
            texts = ["0", "-0.0", "0.1", "1e10", "-1.5E-3", "16777217", "3.4028234e38", "1234567890123456789", "-7"]
            return Raw(pick.choice([*texts, repr(pick.random()), repr(pick.uniform(-1e30, 1e30))]))
        if kind == "boolean":
            return pick.choice([True, False])
        if kind == "string":
            return pick.choice([*TEXTS, pick.choice(TEXTS) + pick.choice(TEXTS)])
        text = base64.b64encode(pick.randbytes(pick.randrange(12))).decode()
        return pick.choice([text, text, text, f" {text}\n"])

    def _other(self) -> Any:
        numbers = ["1.5", "5000000000", "300", "-129", "1e40", "123456789012345678901234567890", "-1", "1e400", "0.25"]
        others: list[Any] = [*map(Raw, numbers), None, True, "", "x", "QQ=", "QQ==QQ==", "12", [], {}, [1], {"a": 1}]
        return self.random.choice([*others, [[1, 2]], [[None, 1]], {"a": None}])

    def record(self, schema: Schema, value: Any, *, spelling: str = "") -> bytes:
        """Write an envelope. ``spelling``: "payload first", "blanks", "twice", "more" or "less" for what is not usual."""
        parts = [f'"schema":{written(schema)}', f'"payload":{written(value)}']
        if spelling == "payload first":
            parts.reverse()
        if spelling == "twice":
            parts.insert(self.random.randrange(2), self.random.choice(['"payload":7', '"schema":null']))
        if spelling == "more":
            parts.insert(self.random.randrange(3), '"more":{}')
        if spelling == "less":
            parts.pop(self.random.randrange(2))
        if spelling == "blanks":
            return b" { " + " ,\n".join(part.replace(":", " : ", 1) for part in parts).encode() + b" } "
        return f"{{{','.join(parts)}}}".encode()


def written(value: Any) -> str:
    """Return JSON, with ``Raw`` as it is."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{written(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return json.dumps(value, ensure_ascii=isinstance(value, str) and "☃" in value)


def envelope(fields: Sequence[tuple[str, str]], *, optional: bool = False, **values: Any) -> bytes:
    """Write a record as producers do; ``fields``: name and type of each, all of them ``optional`` or none."""
    schema = {
        "type": "struct",
        "fields": [{"type": kind, "optional": optional, "field": name} for name, kind in fields],
    }
    return json.dumps({"schema": schema, "payload": values}, separators=(",", ":")).encode()
