"""What floe sees in a JSON Schema against what the library sees with which Confluent's converter reads schemas."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from floe_job.convert.json_schema.nodes import Documents, Place, SchemaNode, node_of
from floe_job.exceptions import UnusableSchema
from tests.support.java.program import java_program
from tests.support.job.formats.json_schema_orders import registered

PACKAGES = ("com.github.erosb:everit-json-schema:1.14.4",)
SCHEMAS = 2_000
DEFINITIONS = {
    "A": {"type": "object", "title": "A", "properties": {"x": {"type": "string"}}},
    "a/b": {"type": "boolean"},
}
REFERENCES = ("#/definitions/A", "#/definitions/a~1b", "#/definitions/A/properties/x")

TYPES = ("string", "integer", "number", "boolean", "null", "object", "array")


class Schemas:
    """Makes random schemas."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def schema(self, depth: int = 0) -> Any:
        """Make a schema."""
        pick = self._random
        if pick.random() < 0.03:
            return pick.choice([True, False])
        if depth and pick.random() < 0.1:
            return {"$ref": pick.choice(REFERENCES), "title": "own", "connect.index": 3}
        made: dict[str, Any] = {}
        if pick.random() < 0.8:
            types = pick.sample(
                ["string", "integer", "number", "boolean", "null", "object", "array"], pick.choice([1, 1, 1, 2])
            )
            made["type"] = types if len(types) > 1 or pick.random() < 0.1 else types[0]
        others: dict[str, Any] = {
            "title": "T",
            "connect.type": pick.choice(["int8", "bytes", "map"]),
            "enum": ["a", 1, None],
            "const": 5,
            "not": {"type": "string"},
            "if": {"required": ["a"]},
            "minimum": 3,
            "pattern": "a+",
            "format": "date",
            "maxItems": 3,
            "required": ["a"],
            "additionalProperties": True,
        }
        made |= {key: value for key, value in others.items() if pick.random() < 0.12}
        for key in ("allOf", "anyOf", "oneOf"):
            if depth < 3 and pick.random() < 0.12:
                made[key] = [self.schema(depth + 1) for _ in range(pick.choice([1, 2, 3]))]
        if depth < 3 and pick.random() < 0.4:
            made["properties"] = {name: self.schema(depth + 1) for name in pick.sample("abcd", pick.randrange(4))}
        if depth < 3 and pick.random() < 0.2:
            made[pick.choice(["items", "additionalProperties"])] = self.schema(depth + 1)
        return made


def seen(place: Place, documents: Documents) -> dict[str, Any]:
    """Return what floe sees in a schema, as the Java program prints it."""
    return _node(node_of(place.schema), place.base, documents)


def _node(node: SchemaNode, base: str, documents: Documents) -> dict[str, Any]:
    kind = "other" if node.kind == "other" else node.kind
    found: dict[str, Any] = {"kind": kind}
    if node.text("title") is not None:
        found["title"] = node.text("title")
    connect = {key: value for key, value in node.common.items() if key.startswith("connect.")}
    if connect:
        found["connect"] = connect
    if kind in ("allOf", "anyOf", "oneOf"):
        parts = [_node(part, base, documents) for part in node.parts]
        found["parts"] = parts + [seen(Place(one, base), documents) for one in node.schemas]
    elif kind == "$ref":
        found["referred"] = seen(documents.referred(node.json["$ref"], base), documents)
    elif kind == "array" and isinstance(node.json.get("items"), dict | bool):
        found["items"] = seen(Place(node.json["items"], base), documents)
    elif kind == "object":
        properties = node.json.get("properties", {})
        found["properties"] = {name: seen(Place(inner, base), documents) for name, inner in properties.items()}
        found["required"] = node.json.get("required", [])
        if isinstance(node.json.get("additionalProperties"), dict):
            found["additional"] = seen(Place(node.json["additionalProperties"], base), documents)
    return found


def unordered(found: Any) -> Any:
    """Return the same with parts in an order of their own: the library's is that of hashes."""
    if isinstance(found, dict):
        made = {key: unordered(value) for key, value in found.items()}
        if "parts" in made:
            made["parts"] = sorted(made["parts"], key=lambda part: json.dumps(part, sort_keys=True))
        return made
    return [unordered(one) for one in found] if isinstance(found, list) else found


def test_random_schemas_are_seen_as_java_sees_them() -> None:
    schemas = [one for seed in range(SCHEMAS) if isinstance(one := Schemas(seed).schema(), dict)]
    schemas = [{**one, "definitions": DEFINITIONS} for one in schemas]
    with java_program("SchemaCheck", PACKAGES) as ask:
        answers = [ask(schema) for schema in schemas]
    for schema, answer in zip(schemas, answers, strict=True):
        documents = Documents(registered(schema))
        try:
            found = seen(documents.root, documents)
        except UnusableSchema as error:
            found = {"error": str(error)}
        assert unordered(found) == unordered(answer), schema
