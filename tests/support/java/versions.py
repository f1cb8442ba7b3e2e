"""Versions of an Avro schema, as producers evolve it: wider types, null allowed, fields that come and go, at every depth."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

_WIDER = {"int": "long", "float": "double"}
_LEAVES: tuple[Any, ...] = (
    *("int", "int", "float", "float", "long", "double", "string", "boolean", "bytes"),
    *({"type": kind, "logicalType": name} for name, kind in (("date", "int"), ("timestamp-millis", "long"))),
    {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
)


@dataclass
class Versions:
    """Makes a schema and versions of it from one source of chance.

    ``is_for_sink``: only changes that the sink follows. It widens fields, not what a list or a map has itself, a field that
    is gone has to be optional, and what becomes optional gets no fields with the same record.
    """

    random: Random
    is_for_sink: bool = False
    _names: int = field(default=0)

    def record(self, depth: int = 0) -> Any:
        """Make the schema of a record."""
        self._names += 1
        name = f"R{self._names}"
        fields = [self._field(depth) for _ in range(self.random.choice([1, 2, 3]))]
        return {"type": "record", "name": name, "fields": fields}

    def next(self, schema: Any) -> Any:
        """Return another version of a schema; what is nullable stays so."""
        if isinstance(schema, str):
            return _WIDER.get(schema, schema) if self.random.random() < 0.4 else schema
        if isinstance(schema, list):
            return [one if one == "null" else self.next(one) for one in schema]
        if schema["type"] == "record":
            return self._next_record(schema)
        inner = {key: self._next_inside(schema[key]) for key in ("items", "values") if key in schema}
        return {**schema, **inner}

    def _next_inside(self, kind: Any) -> Any:
        if not self.is_for_sink:
            return self._next_type(kind)
        inner = next((one for one in kind if one != "null"), "null") if isinstance(kind, list) else kind
        return kind if isinstance(inner, str) or "type" not in inner or _is_leaf(inner) else self.next(kind)

    def _next_record(self, schema: Any) -> Any:
        fields = [{**one, "type": self._next_type(one["type"])} for one in schema["fields"]]
        gone = [i for i, one in enumerate(schema["fields"]) if isinstance(one["type"], list) or not self.is_for_sink]
        if len(fields) > 1 and gone and self.random.random() < 0.3:
            fields.pop(self.random.choice(gone))
        if self.random.random() < 0.4:
            fields.insert(self.random.randrange(len(fields) + 1), self._field(1))
        return {**schema, "fields": fields}

    def _next_type(self, kind: Any) -> Any:
        made = self.next(kind)
        if not isinstance(made, list) and self.random.random() < 0.2:
            return ["null", kind if self.is_for_sink else made]
        return made

    def _field(self, depth: int) -> Any:
        self._names += 1
        name = f"f{self._names}"
        kind = self._type(depth)
        return {"name": name, "type": ["null", kind] if self.random.random() < 0.4 else kind}

    def _type(self, depth: int) -> Any:
        kind = self.random.choice([*_LEAVES, *["array", "map", "record", "record"] * (depth < 3)])
        if kind == "record":
            return self.record(depth + 1)
        if kind in ("array", "map"):
            inner = self._type(depth + 1)
            if self.random.random() < 0.4:
                inner = ["null", inner]
            return {"type": kind, "items" if kind == "array" else "values": inner}
        return kind


def _is_leaf(schema: Any) -> bool:
    return schema["type"] not in ("record", "array", "map")
