"""Which schema a value of JSON gets from the sink's JsonToMapTransform, and what the value becomes."""

from __future__ import annotations

from decimal import Decimal
from enum import Enum
from math import isinf
from typing import Any, Final, cast

from floe_job.connect import logical
from floe_job.connect.arrow import MAX_DIGITS
from floe_job.connect.schema import ConnectSchema, Kind, array, map_of
from floe_job.exceptions import TransformRefused
from floe_job.types.java_text import json_text

_TOO_LARGE: Final = "a number in the value is too large"
_STRING: Final = ConnectSchema(Kind.STRING)
_TEXT: Final = ConnectSchema(Kind.STRING, optional=True)
_TEXTS: Final = array(_TEXT, optional=True)
_MAPS: Final = array(map_of(_TEXT, _TEXT, optional=True), optional=True)


class Node(Enum):
    """The kinds of nodes that Jackson has."""

    NULL = "null"
    BOOLEAN = "boolean"
    TEXT = "text"
    INT = "int"
    LONG = "long"
    BIG = "big"
    DOUBLE = "double"
    ARRAY = "array"
    OBJECT = "object"


_SCHEMAS: Final = {
    Node.BOOLEAN: ConnectSchema(Kind.BOOLEAN, optional=True),
    Node.TEXT: _TEXT,
    Node.INT: ConnectSchema(Kind.INT32, optional=True),
    Node.LONG: ConnectSchema(Kind.INT64, optional=True),
    Node.BIG: ConnectSchema(Kind.BYTES, True, logical.DECIMAL, 1, ((logical.SCALE, "0"),)),
    Node.DOUBLE: ConnectSchema(Kind.FLOAT64, optional=True),
    Node.OBJECT: map_of(_STRING, _STRING, optional=True),
}
_NODES: Final[dict[type, Node]] = {
    type(None): Node.NULL,
    bool: Node.BOOLEAN,
    str: Node.TEXT,
    list: Node.ARRAY,
    dict: Node.OBJECT,
}


def node_of(value: Any) -> Node:
    """Return what Jackson reads a value as."""
    found = _NODES.get(type(value))
    if found is not None:
        return found
    if isinstance(value, float):
        return Node.DOUBLE
    if isinstance(value, int) and -(2**31) <= value < 2**31:
        return Node.INT
    return Node.LONG if isinstance(value, int) and -(2**63) <= value < 2**63 else Node.BIG


def schema_of(value: Any) -> ConnectSchema | None:
    """Return the schema of a field's value; None for one that gets no field: null, and what is empty."""
    node = node_of(value)
    if node is Node.ARRAY:
        return _array_schema(value)
    return None if node is Node.NULL or value == {} else _SCHEMAS[node]


def _array_schema(values: list[Any]) -> ConnectSchema | None:
    if not values:
        return None
    nodes = {node_of(value) for value in values}
    if len(nodes) > 1 or nodes == {Node.NULL}:
        return _TEXTS
    node = nodes.pop()
    if node is Node.OBJECT:
        return _MAPS
    if node is not Node.ARRAY:
        return array(_SCHEMAS[node], optional=True)
    inner = {schema_of(value) for value in values}
    if len(inner) > 1:
        return array(_TEXTS, optional=True)
    one = inner.pop()
    return None if one is None else array(one, optional=True)


def value_of(value: Any, schema: ConnectSchema) -> Any:
    """Return a value as its schema has it. Raises TransformRefused."""
    if schema.kind is Kind.ARRAY:
        element = cast(ConnectSchema, schema.element)
        return [value_of(entry, element) for entry in value]
    if schema.kind is Kind.MAP:
        return text_map(value)
    if schema.kind is Kind.STRING:
        return _text(value)
    if schema.kind is Kind.BYTES:
        return _decimal(value)
    return _double(value) if schema.kind is Kind.FLOAT64 else value


def text_map(value: dict[str, Any]) -> dict[str, str]:
    """Return an object with texts: strings as they are, all else as JSON. Raises TransformRefused."""
    return {name: _text(entry) for name, entry in value.items()}


def _text(value: Any) -> str:
    try:
        return value if isinstance(value, str) else json_text(value)
    except OverflowError as error:
        raise TransformRefused(_TOO_LARGE) from error


def _double(value: Any) -> float:
    number = float(value)
    if isinf(number):  # no JSON text is infinite
        raise TransformRefused(_TOO_LARGE)
    return number


def _decimal(value: Any) -> Decimal:
    if not isinstance(value, int) or abs(value) >= 10**MAX_DIGITS:
        problem = f"an integer in the value has more than {MAX_DIGITS} digits, which no column has"
        raise TransformRefused(problem)
    return Decimal(value)
