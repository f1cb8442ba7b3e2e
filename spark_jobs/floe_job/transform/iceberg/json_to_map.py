"""The sink's JsonToMapTransform: texts of JSON become structs, whose objects are maps of texts."""

from __future__ import annotations

from decimal import Decimal
from enum import Enum
from math import isinf
from typing import Any, Final, cast

from floe.config.transforms.iceberg import JsonToMap
from floe_job.connect import logical
from floe_job.connect.arrow import MAX_DIGITS
from floe_job.connect.schema import ConnectSchema, Kind, array, map_of, struct
from floe_job.convert.json.parse import parse_value
from floe_job.exceptions import Malformed, TransformRefused
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.struct_fields import shown
from floe_job.transform.value_change import ChangedRecords
from floe_job.types.java_text import json_text

_STRING: Final = ConnectSchema(Kind.STRING)
_PAYLOAD: Final = "payload"
_WHOLE: Final = struct({_PAYLOAD: map_of(_STRING, _STRING, optional=True)})

MAX_KNOWN: Final = 1000
"""Schemas that are kept, so that records of one schema have one."""


class JsonMaps:
    """Makes structs of texts: a ``RecordTransform``."""

    def __init__(self, options: JsonToMap) -> None:
        self._is_whole = options.is_whole
        self._known: dict[ConnectSchema, ConnectSchema] = {}

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Change the texts; what is no JSON object is refused, tombstones stay."""
        records = ChangedRecords(batch)

        def change(row: int, value: Any, schema: ConnectSchema | None) -> None:
            if value is not None:
                records.set_value(row, *self._changed(value))

        return records.each(change)

    def _changed(self, value: Any) -> tuple[dict[str, Any], ConnectSchema]:
        if not isinstance(value, str):
            problem = f"the value is no text of JSON, but {shown(value)}: set value.converter to StringConverter"
            raise TransformRefused(problem)
        try:
            found = parse_value(value.encode("utf-8", "surrogatepass"))
        except Malformed as error:
            problem = f"the value is {error.reason}"
            raise TransformRefused(problem) from error
        if type(found) is not dict:
            problem = f"the value is no JSON object, but {shown(value)}"
            raise TransformRefused(problem)
        if self._is_whole:
            return {_PAYLOAD: text_map(found)}, _WHOLE
        return self._flat(found)

    def _flat(self, found: dict[str, Any]) -> tuple[dict[str, Any], ConnectSchema]:
        if "" in found:
            problem = "the object has a field without a name"
            raise TransformRefused(problem)
        schemas = {name: schema_of(entry) for name, entry in found.items()}
        fields = {name: schema for name, schema in schemas.items() if schema is not None}
        value = {name: value_of(found[name], schema) for name, schema in fields.items()}
        return value, self._one(struct(fields))

    def _one(self, schema: ConnectSchema) -> ConnectSchema:
        known = self._known.get(schema)
        if known is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[schema] = schema
        return known


# Which schema a value of JSON gets from the sink's JsonToMapTransform, and what the value becomes.


_TOO_LARGE: Final = "a number in the value is too large"
_TEXT: Final = ConnectSchema(Kind.STRING, optional=True)
_TEXTS: Final = array(_TEXT, optional=True)
_MAPS: Final = array(map_of(_TEXT, _TEXT, optional=True), optional=True)


class JsonNode(Enum):
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
    JsonNode.BOOLEAN: ConnectSchema(Kind.BOOLEAN, optional=True),
    JsonNode.TEXT: _TEXT,
    JsonNode.INT: ConnectSchema(Kind.INT32, optional=True),
    JsonNode.LONG: ConnectSchema(Kind.INT64, optional=True),
    JsonNode.BIG: ConnectSchema(Kind.BYTES, True, logical.DECIMAL, 1, ((logical.SCALE, "0"),)),
    JsonNode.DOUBLE: ConnectSchema(Kind.FLOAT64, optional=True),
    JsonNode.OBJECT: map_of(_STRING, _STRING, optional=True),
}
_NODES: Final[dict[type, JsonNode]] = {
    type(None): JsonNode.NULL,
    bool: JsonNode.BOOLEAN,
    str: JsonNode.TEXT,
    list: JsonNode.ARRAY,
    dict: JsonNode.OBJECT,
}


def node_of(value: Any) -> JsonNode:
    """Return what Jackson reads a value as."""
    found = _NODES.get(type(value))
    if found is not None:
        return found
    if isinstance(value, float):
        return JsonNode.DOUBLE
    if isinstance(value, int) and -(2**31) <= value < 2**31:
        return JsonNode.INT
    return JsonNode.LONG if isinstance(value, int) and -(2**63) <= value < 2**63 else JsonNode.BIG


def schema_of(value: Any) -> ConnectSchema | None:
    """Return the schema of a field's value; None for one that gets no field: null, and what is empty."""
    node = node_of(value)
    if node is JsonNode.ARRAY:
        return _array_schema(value)
    return None if node is JsonNode.NULL or value == {} else _SCHEMAS[node]


def _array_schema(values: list[Any]) -> ConnectSchema | None:
    if not values:
        return None
    nodes = {node_of(value) for value in values}
    if len(nodes) > 1 or nodes == {JsonNode.NULL}:
        return _TEXTS
    node = nodes.pop()
    if node is JsonNode.OBJECT:
        return _MAPS
    if node is not JsonNode.ARRAY:
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
