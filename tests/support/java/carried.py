"""Values with schemas as Connect's envelopes, for the sink: those of formats whose converters no public repository has."""

from __future__ import annotations

import base64
import json
import math
from decimal import Decimal
from typing import Any

from floe_job.connect import logical
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.types.typed_values import Day, DayTime, Moment


def envelope(schema: ConnectSchema, value: Any) -> bytes:
    """Return the envelope of a value as ``floe_job.convert.typed.python_values`` has it.

    Raises ValueError for a number that Kafka's JsonConverter does not read, or not as it is: NaN, Infinity, -0.0.
    """
    made = {"schema": _schema(schema), "payload": _payload(schema, value)}
    return json.dumps(made, allow_nan=False).encode()


def _schema(schema: ConnectSchema) -> dict[str, Any]:
    made: dict[str, Any] = {"type": schema.kind.value, "optional": schema.optional}
    if schema.name is not None:
        made["name"] = schema.name
    if schema.parameters:
        made["parameters"] = dict(schema.parameters)
    if schema.kind is Kind.STRUCT:
        made["fields"] = [{**_schema(inner), "field": name} for name, inner in schema.fields]
    if schema.element is not None and schema.key is not None:
        return {**made, "keys": _schema(schema.key), "values": _schema(schema.element)}
    return made if schema.element is None else {**made, "items": _schema(schema.element)}


def _payload(schema: ConnectSchema, value: Any) -> Any:
    if value is None:
        return None
    if schema.kind is Kind.STRUCT:
        return {name: _payload(inner, value[name]) for name, inner in schema.fields}
    if schema.element is not None and schema.key is not None:
        pairs = [(_payload(schema.key, key), _payload(schema.element, one)) for key, one in value.items()]
        return dict(pairs) if schema.key.kind is Kind.STRING else pairs
    if schema.element is not None:
        return [_payload(schema.element, one) for one in value]
    if isinstance(value, Decimal):
        unscaled = int(value.scaleb(int(schema.parameter(logical.SCALE) or "0")))
        value = unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and value == 0 and math.copysign(1, value) < 0:
        problem = "-0.0 is read as 0.0"
        raise ValueError(problem)
    if isinstance(value, Day):
        return value.days
    return value.micros // 1000 if isinstance(value, DayTime | Moment) else value
