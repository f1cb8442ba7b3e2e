"""Literals and values that are made at random, against Connect's InsertHeader and SimpleHeaderConverter: the same bytes.

Before Java 19, numbers may have a digit too many: they are compared as numbers.
"""

from __future__ import annotations

import base64
import json
import re
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np

from floe_job.connect import logical
from floe_job.connect.schema import ConnectSchema, Kind, array, map_of, struct
from floe_job.types.header_texts import header_text, literal_text
from floe_job.types.header_texts.literal import trimmed
from floe_job.types.numbers import Single
from floe_job.types.typed_values import Day, DayTime, Moment
from stack.services.broker import KAFKA
from tests.support.java.program import java_program

PACKAGES = (
    f"org.apache.kafka:connect-json:{KAFKA}",
    f"org.apache.kafka:connect-transforms:{KAFKA}",
    "org.slf4j:slf4j-nop:2.0.17",
)
LITERALS, VALUES, SEED = 20_000, 6_000, 23
WORDS = (
    "1.50", "1", "-5", "+7", "200", "40000", "3000000000", "99999999999999999999", "1.0", "0.5", "1e400", "1E5",
    "-0", ".5", "1.", "1e-400", "3.4028235677973366e38", "16777217.5", "true", "false", "null", "True", "a", "a b",
    "é😀", '"a"', '"x\\"y"', '"', '"2019-08-23"', "2019-08-23", "14:34:54.346Z", "2019-08-23T14:34:54.346Z",
    '"14:34:54.346Z"', '"2019-08-23T14\\:34\\:54.346Z"', "1969-12-31", "", " ", "\\", "\\,", "nul", "0x1", "1_0",
    "\u0663", "9223372036854775807", "9223372036854775808", "1e19", "12345678901", "2019-13-45", "1-2-345678", "- 1",
    "NaN", "10000000000000000000.0", "1e2147483647", "0e999999999", "100000000000000000000e-1",
)  # fmt: skip
DELIMITERS = (",", ":", "[", "]", "{", "}", '"', " ", "\t", "\\", "", "")
LETTERS = 'ab1 "\\é😀\u017f'


def _literal(random: Random, depth: int = 0) -> str:
    kind = random.random()
    if depth < 3 and kind < 0.25:
        return "[" + ",".join(_literal(random, depth + 1) for _ in range(random.randint(0, 4))) + "]"
    if depth < 3 and kind < 0.45:
        pairs = [f"{_literal(random, 3)}:{_literal(random, depth + 1)}" for _ in range(random.randint(0, 3))]
        return "{" + ",".join(pairs) + "}"
    if kind < 0.55:
        return random.choice(("", " ")) + random.choice(WORDS) + random.choice(("", " ", random.choice(DELIMITERS)))
    if kind < 0.7:
        return repr(random.uniform(-1, 1) * 10.0 ** random.randint(-50, 50))
    if kind < 0.8:
        return str(random.randint(-(10 ** random.randint(1, 22)), 10 ** random.randint(1, 22)))
    return random.choice(WORDS)


def _changed(random: Random, text: str) -> str:
    for _ in range(random.choice((0, 0, 0, 1, 2))):
        place = random.randint(0, len(text))
        text = text[:place] + random.choice(DELIMITERS) + text[place + random.randint(0, 1) :]
    return text


_NUMBER = re.compile(rb"-?[0-9.]+E?-?[0-9]*")


def _same(ours: bytes | None, theirs: bytes | None) -> bool:
    """Return whether the bytes are the same, but for digits of numbers."""
    if ours == theirs or ours is None or theirs is None:
        return ours == theirs
    if _NUMBER.sub(b"#", ours) != _NUMBER.sub(b"#", theirs):
        return False
    pairs = zip(_NUMBER.findall(ours), _NUMBER.findall(theirs), strict=True)
    return all(one == other or (b"." in one and np.float32(one) == np.float32(other)) for one, other in pairs)


def _bytes(answer: dict[str, Any], name: str = "bytes") -> bytes | None:
    assert "error" not in answer, answer
    return None if answer[name] is None else base64.b64decode(answer[name])


def test_literal_is_written_as_by_insert_header() -> None:
    random = Random(SEED)
    nested = 0
    with java_program("HeaderCheck", PACKAGES) as ask:
        for _ in range(LITERALS):
            literal = _changed(random, _literal(random)) or "a"
            answer, ours = ask({"literal": literal}), literal_text(literal)
            assert _same(ours, _bytes(answer)), (literal, ours, _bytes(answer))
            assert _same(literal_text(trimmed(literal)), _bytes(answer, "inserted")), literal
            nested += ours is not None and ours[:1] in b"[{" and ours != literal.encode()
    assert nested > LITERALS // 20


def _text(random: Random) -> str:
    return "".join(random.choices(LETTERS, k=random.randint(0, 4)))


def _of_json(random: Random, depth: int = 0) -> Any:
    kind = random.random()
    if depth < 3 and kind < 0.2:
        return [_of_json(random, depth + 1) for _ in range(random.randint(0, 4))]
    if depth < 3 and kind < 0.5:
        return {
            f"{_text(random)}{random.randint(0, 99)}": _of_json(random, depth + 1) for _ in range(random.randint(0, 30))
        }
    return random.choice(
        (None, True, False, random.randint(-(2**63), 2**63 - 1), random.uniform(-1e9, 1e9), _text(random))
    )


LEAVES = (
    Kind.BOOLEAN,
    Kind.INT8,
    Kind.INT16,
    Kind.INT32,
    Kind.INT64,
    Kind.FLOAT32,
    Kind.FLOAT64,
    Kind.STRING,
    Kind.BYTES,
)
LOGICAL = (
    ConnectSchema(Kind.INT32, True, logical.DATE),
    ConnectSchema(Kind.INT32, True, logical.TIME),
    ConnectSchema(Kind.INT64, True, logical.TIMESTAMP),
    ConnectSchema(Kind.BYTES, True, logical.DECIMAL, parameters=(("scale", "3"),)),
)


def _schema(random: Random, depth: int = 0) -> ConnectSchema:
    kind = random.random()
    if depth < 3 and kind < 0.15:
        return array(_schema(random, depth + 1), optional=True)
    if depth < 3 and kind < 0.3:
        key = ConnectSchema(random.choice((Kind.STRING, Kind.STRING, Kind.INT32, Kind.INT64)))
        return map_of(key, _schema(random, depth + 1), optional=True)
    if depth < 3 and kind < 0.5:
        fields = {f"{name}{_text(random)}": _schema(random, depth + 1) for name in "zabc"[: random.randint(1, 4)]}
        return struct(fields, optional=True)
    if kind < 0.75:
        return random.choice(LOGICAL)
    return ConnectSchema(random.choice(LEAVES), optional=True)


def _json_schema(schema: ConnectSchema) -> dict[str, Any]:
    made: dict[str, Any] = {"type": schema.kind.value, "optional": schema.optional}
    if schema.name is not None:
        made |= {"name": schema.name, "version": 1, "parameters": dict(schema.parameters)}
    if schema.kind is Kind.STRUCT:
        made["fields"] = [{"field": name, **_json_schema(inner)} for name, inner in schema.fields]
    if schema.key is not None:
        made["keys"] = _json_schema(schema.key)
    if schema.element is not None:
        made["values" if schema.kind is Kind.MAP else "items"] = _json_schema(schema.element)
    return made


def _value(random: Random, schema: ConnectSchema) -> tuple[Any, Any]:
    """Return a value as floe has it, and as the JSON of Connect."""
    if schema.optional and random.random() < 0.1:
        return None, None
    if schema.kind is Kind.STRUCT:
        pairs = {name: _value(random, inner) for name, inner in schema.fields}
        return {name: one for name, (one, _) in pairs.items()}, {name: other for name, (_, other) in pairs.items()}
    if schema.kind is Kind.ARRAY and schema.element is not None:
        made = [_value(random, schema.element) for _ in range(random.randint(0, 3))]
        return [one for one, _ in made], [other for _, other in made]
    if schema.kind is Kind.MAP and schema.key is not None and schema.element is not None:
        keys = {_leaf(random, schema.key)[0]: None for _ in range(random.randint(0, 15))}
        entries = {key: _value(random, schema.element) for key in keys}
        given = {key: other for key, (_, other) in entries.items()}
        is_text = schema.key.kind is Kind.STRING
        return {key: one for key, (one, _) in entries.items()}, given if is_text else [
            list(pair) for pair in given.items()
        ]
    return _leaf(random, schema)


def _leaf(random: Random, schema: ConnectSchema) -> tuple[Any, Any]:
    if schema.name == logical.DATE:
        days = random.randint(-800_000, 800_000)
        return Day(days), days
    if schema.name == logical.TIME:
        millis = random.randint(0, 86_399_999)
        return DayTime(millis * 1000), millis
    if schema.name == logical.TIMESTAMP:
        millis = random.choice((random.randint(-(10**14), 10**14), random.randint(-20_000, 20_000) * 86_400_000))
        return Moment(millis * 1000), millis
    if schema.name == logical.DECIMAL:
        unscaled = random.randint(-(10 ** random.randint(0, 20)), 10 ** random.randint(0, 20))
        raw = unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)
        return Decimal(unscaled).scaleb(-3), base64.b64encode(raw).decode()
    if schema.kind is Kind.BOOLEAN:
        return (random.random() < 0.5,) * 2
    if schema.kind is Kind.FLOAT32:
        number = float(np.float32(random.uniform(-1, 1) * 10.0 ** random.randint(-30, 30)))
        return Single(number), number
    if schema.kind is Kind.FLOAT64:
        return (random.uniform(-1, 1) * 10.0 ** random.randint(-300, 300),) * 2
    if schema.kind is Kind.STRING:
        return (_text(random),) * 2
    if schema.kind is Kind.BYTES:
        content = random.randbytes(random.randint(0, 5))
        return content, base64.b64encode(content).decode()
    bits = int(schema.kind.value[3:])
    return (random.randint(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1),) * 2


def test_value_is_written_as_by_simple_header_converter() -> None:
    random = Random(SEED)
    with java_program("HeaderCheck", PACKAGES) as ask:
        for _ in range(VALUES):
            schema = _schema(random)
            ours, given = _value(random, schema)
            text = json.dumps({"schema": _json_schema(schema), "payload": given})
            theirs = _bytes(ask({"json": text, "schemas": True}))
            assert _same(header_text(schema, ours), theirs), (text, header_text(schema, ours), theirs)


def test_value_without_schema_is_written_as_by_connect() -> None:
    random = Random(SEED)
    with java_program("HeaderCheck", PACKAGES) as ask:
        for _ in range(VALUES):
            value = _of_json(random)
            theirs = _bytes(ask({"json": json.dumps(value), "schemas": False}))
            assert _same(header_text(None, value), theirs), (value, header_text(None, value), theirs)
