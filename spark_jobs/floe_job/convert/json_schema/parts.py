"""What single parts of a JSON Schema mean to Kafka Connect: types, properties, and what ``connect.*`` says of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from floe_job.connect import logical
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.json_schema.nodes import ALL, UNIONS, Node, refuse, shown
from floe_job.convert.typed_json.carried_types import carried_type
from floe_job.convert.typed_json.forms import JsonForms
from floe_job.convert.typed_json.json_values import JsonValues
from floe_job.convert.typed_json.typed_columns import Findings, typed_column
from floe_job.exceptions import InvalidRecord

NAMESPACE: Final = "io.confluent.connect.json"
UNION: Final = f"{NAMESPACE}.OneOf"
ENUM: Final = f"{NAMESPACE}.Enum"
FORMS: Final = JsonForms(absent_is_null=True, entries_are_objects=True, union=UNION)

_NULL_SYMBOL: Final = "<NULL>"
_NUMBERS: Final = {
    "int8": Kind.INT8,
    "int16": Kind.INT16,
    "int32": Kind.INT32,
    "int64": Kind.INT64,
    "float32": Kind.FLOAT32,
    "float64": Kind.FLOAT64,
    "bytes": Kind.BYTES,
}
_KIND_OF_NAME: Final = {logical.DATE: Kind.INT32, logical.TIME: Kind.INT32, logical.TIMESTAMP: Kind.INT64}
_WHOLE: Final = frozenset({Kind.INT8, Kind.INT16, Kind.INT32, Kind.INT64})


def scalar(node: Node) -> ConnectSchema:
    """Return the schema of a part that says the type of single values. Raises UnusableSchema."""
    if node.kind in ("integer", "number"):
        return ConnectSchema(_number(node))
    if node.kind == "string":
        return ConnectSchema(Kind.BYTES if node.common.get("connect.type") == "bytes" else Kind.STRING)
    if node.kind == "boolean":
        return ConnectSchema(Kind.BOOLEAN)
    if node.kind == "enum":
        return _enum(node)
    refuse(f"the schema has {shown(dict(node.json))}, which says no type that Kafka Connect has")


def with_common(node: Node, bare: ConnectSchema, optional: bool) -> ConnectSchema:
    """Add the name, the version, the parameters and the default that a part has."""
    name = bare.name or node.text("title")
    kind = _KIND_OF_NAME.get(name or "", bare.kind) if bare.kind in _WHOLE else bare.kind
    version = node.common.get("connect.version")
    if version is not None and type(version) is not int:
        refuse(f"the schema has the connect.version {shown(version)}, which is no whole number")
    parameters = (*bare.parameters, *_parameters(node).items())
    made = replace(
        bare, kind=kind, name=name, version=version, parameters=parameters, optional=bare.optional or optional
    )
    default = node.common.get("default")
    return made if default is None else replace(made, default=_default(made, default))


def chosen(parts: Sequence[Node]) -> Node | None:
    """Choose the part that says the type, where none has properties."""
    by_kind: dict[str, Node] = {}
    for part in parts:
        by_kind["union" if part.kind in UNIONS or part.kind == ALL else part.kind] = part
    number = by_kind.get("integer", by_kind.get("number"))
    text = by_kind.get("string")
    if "union" in by_kind:
        return by_kind["union"]
    if number is not None and (text is None or number.is_named):
        return number
    if text is not None:
        return by_kind["enum"] if "enum" in by_kind and "const" not in by_kind else text
    rest = [kind for kind in ("$ref", "boolean", "array", "object") if kind in by_kind]
    return by_kind[rest[0]] if rest else None


def properties_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    found = schema.get("properties", {})
    if not isinstance(found, dict):
        refuse(f"the schema has properties that are {shown(found)}")
    return found


def required_by(schema: Mapping[str, Any]) -> frozenset[str]:
    found = schema.get("required", [])
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        refuse(f"the schema has required that is {shown(found)}, and no list of names")
    return frozenset(found)


def ordered(properties: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return properties in the order of their connect.index; those without one stay where they are."""
    indices = [inner.get("connect.index") if isinstance(inner, dict) else None for inner in properties.values()]
    keys = [index if type(index) is int else place for place, index in enumerate(indices)]
    entries = list(properties.items())
    return [entries[place] for place in sorted(range(len(entries)), key=lambda place: keys[place])]


def _number(node: Node) -> Kind:
    name = node.common.get("connect.type")
    if name is None:
        return Kind.INT64 if node.kind == "integer" else Kind.FLOAT64
    if not isinstance(name, str) or name not in _NUMBERS:
        refuse(f"the schema has a number whose connect.type is {shown(name)}; known: {', '.join(_NUMBERS)}")
    return _NUMBERS[name]


def _enum(node: Node) -> ConnectSchema:
    values = node.json["enum"]
    if not isinstance(values, list):
        refuse(f"the schema has an enum that is {shown(values)}, and no list")
    symbols = [_NULL_SYMBOL if one is None else one if isinstance(one, str) else json.dumps(one) for one in values]
    parameters = {ENUM: ""} | {f"{ENUM}.{symbol}": symbol for symbol in symbols}
    return ConnectSchema(Kind.STRING, None in values, parameters=tuple(parameters.items()))


def _parameters(node: Node) -> dict[str, str]:
    found = node.common.get("connect.parameters", {})
    if not isinstance(found, dict) or any(isinstance(value, dict | list) for value in found.values()):
        refuse(f"the schema has connect.parameters that are {shown(found)}")
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in found.items()}


def _default(schema: ConnectSchema, given: Any) -> Any:
    """Return a default as a value of its schema. Raises UnusableSchema."""
    findings = Findings()
    try:
        carried = pa.array([JsonValues(FORMS).reader(schema)(given)], carried_type(schema))
        column = typed_column(carried, schema, np.zeros(1, np.int64), findings)
        found = column.to_pylist()[0]
    except (InvalidRecord, ValueError, OverflowError) as error:
        refuse(f"the schema has the default {shown(given)}, which it cannot have: {error}")
    if findings.reasons:
        refuse(f"the schema has the default {shown(given)}, which it cannot have: {findings.reasons[0]}")
    return found
