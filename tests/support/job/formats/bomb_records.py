"""What bombs are made of: for each format names, schemas, and values that name them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from tests.support.avro import varint
from tests.support.job.formats import ext_json_records
from tests.support.job.formats.envelopes import DATE, DECIMAL

_LONG: Final = "S" * 20_000
_LONG_SYMBOL: Final = {"type": "enum", "name": "E", "symbols": [_LONG]}
_HUGE: Final = (2**62, -(2**62), 2**63 - 1, -(2**63), 2**31, 10**7)


def _record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": key, "type": kind} for key, kind in fields.items()]}


def avro_bombs() -> Iterator[tuple[str, Any, bytes]]:
    """Yield names, schemas and datums."""
    empty = _record("E")
    for count in _HUGE:
        size = varint(count) + (varint(3) if count < 0 else b"")
        yield f"array of {count}", _record("R", a={"type": "array", "items": "int"}), size + b"\x02\x00"
        yield f"empty elements, {count}", _record("R", a={"type": "array", "items": empty}), size + b"\x00"
        yield f"map of {count}", _record("R", a={"type": "map", "values": "int"}), size + b"\x02a\x02\x00"
        yield f"string of {count} bytes", _record("R", a="string"), varint(count) + b"abc"
    few = 50_000
    yield "blocks of one element", _record("R", a={"type": "array", "items": "int"}), b"\x02\x02" * few + b"\x00"
    yield (
        "one key again and again",
        _record("R", a={"type": "map", "values": "int"}),
        (varint(few) + b"\x02a\x02" * few + b"\x00"),
    )
    yield (
        "empty arrays",
        _record("R", a={"type": "array", "items": {"type": "array", "items": "int"}}),
        (varint(few) + b"\x00" * few + b"\x00"),
    )
    yield (
        "nulls of wide records",
        _record("R", a={"type": "array", "items": ["null", _laughs(3, 16)]}),
        (varint(1_000_000) + bytes(1_000_001)),
    )
    yield "expanding types", _laughs(12, 10), b"\x00"
    yield "recursive", _record("R", a=["null", "R"]), b"\x00"
    yield "4,999 fields", _record("R", **{f"f{i}": "int" for i in range(4_999)}), b"\x02" * 4_999
    yield "6,000 fields", _record("R", **{f"f{i}": "int" for i in range(6_000)}), b"\x02" * 6_000
    yield (
        "100,000 symbols",
        _record("R", a={"type": "enum", "name": "E", "symbols": [f"S{i}" for i in range(100_000)]}),
        (varint(99_999)),
    )
    symbols = {"type": "enum", "name": "E", "symbols": [f"S{i}" for i in range(20_000)]}
    yield "uses of 20,000 symbols", _record("R", a=symbols, **{f"f{i}": "E" for i in range(2_000)}), b"\x00" * 2_001
    yield (
        "a long symbol, 30,000 times",
        _record("R", a={"type": "array", "items": _LONG_SYMBOL}),
        (varint(30_000) + bytes(30_001)),
    )
    yield "fixed of 2 GB", _record("R", a={"type": "fixed", "name": "F", "size": 2**31 - 1}), b"1" * 100
    money = {"type": "bytes", "logicalType": "decimal", "precision": 10_000, "scale": 2}
    yield "decimal of 10,000 digits", _record("R", a=money), varint(4_200) + b"\x7f" * 4_200
    yield "scale of 9,999", _record("R", a=money | {"scale": 9_999}), varint(4_200) + b"\x7f" * 4_200
    yield "text that is not UTF-8", _record("R", a="string"), varint(100_000) + b"\xff" * 100_000
    yield "name that is not Unicode", _record("\ud800", **{"\udc00": "int"}), b"\x02"
    yield "50,000 levels", '{"type": "array", "items": ' * 50_000, b"\x00"
    for depth in DEPTHS:
        nested = "[" * depth + "]" * depth
        yield f"default of {depth} levels", _with('"default": ' + nested), b"\x00"
        yield f"property of {depth} levels", _with('"type": {"type": "int", "avro.x": ' + nested + "}"), b"\x00"


def _with(more: str) -> str:
    return '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int", ' + more + "}]}"


def _laughs(levels: int, width: int) -> dict[str, Any]:
    """Return a record of records, each with ``width`` of the level below."""
    made: dict[str, Any] = _record("L0", a="int")
    for level in range(1, levels):
        inner = {f"f{i}": f"L{level - 1}" for i in range(1, width)}
        made = _record(f"L{level}", f0=made, **inner)
    return made


DEPTHS: Final = (100, 300, *range(900, 1000, 7))
"""Levels in a value: Python stops between 900 and 1,000, where depends on who calls."""


def _size(count: int) -> bytes:
    """Write a number of up to 21 bits as Protobuf has it, without a sign."""
    return bytes([count & 127 | 128, count >> 7 & 127 | 128, count >> 14])


def protobuf_bombs() -> Iterator[tuple[str, str, bytes]]:
    """Yield names, messages of a file, and records behind their id."""

    def messages(count: int, width: int, rule: str = "") -> str:
        made = (
            f"message M{level} {{ " + "".join(f"{rule} M{level - 1} f{i} = {i};" for i in range(1, width + 1)) + "}"
            for level in range(1, count)
        )
        return "message M0 { int32 a = 1; } " + "".join(made)

    def index(number: int) -> bytes:
        return b"\x02" + varint(number)

    yield "recursive", "message R { R a = 1; }", b"\x00\x0a\x00"
    yield "recursive by another", "message R { S a = 1; } message S { R b = 1; }", b"\x00\x0a\x00"
    yield "expanding types", messages(10, 10), index(9) + b"\x0a\x00"
    yield "many wide elements", messages(6, 4, "repeated"), index(5) + b"\x0a\x00" * 100_000
    yield "1,000 levels", messages(1_000, 1), index(999) + b"\x0a\x00"
    yield (
        "18,998 fields",
        "message R {" + "".join(f"int32 f{i} = {i};" for i in range(1, 18_999)) + "}",
        b"\x00\x08\x01",
    )
    yield "no schema", "\x00\x01", b"\x00"
    yield "10,000 braces", "message R {" * 10_000, b"\x00"
    option = 'import "google/protobuf/descriptor.proto"; message O { O o = 1; } '
    option += "extend google.protobuf.FileOptions { O x = 50000; }"
    for begin, end in ("{}", "<>"):
        deep = f"o {begin}" * 1_000 + end * 1_000
        yield (
            f"options of 1,000 levels, {begin}",
            f"{option} option (x) = {{{deep}}}; message R {{ int32 a = 1; }}",
            b"\x00",
        )
    yield "list of 200,000 entries", f"message R {{ reserved {','.join(map(str, range(9, 400_000, 2)))}; }}", b"\x00"
    yield "100,000 brackets that end nothing", "}" * 100_000, b"\x00"
    values = "".join(f"V{i} = {i};" for i in range(10_000))
    uses = "".join(f"E f{i} = {i};" for i in range(1, 4_000))
    yield "uses of 10,000 values", f"enum E {{ {values} }} message R {{ {uses} }}", b"\x00"
    often = f"enum E {{ {_LONG} = 0; }} message R {{ repeated E a = 1; }}"
    yield "a long name, 30,000 times", often, b"\x00\x0a" + _size(30_000) + bytes(30_000)
    yield "file of another", 'import "/etc/passwd"; message R { int32 a = 1; }', b"\x00\x08\x01"
    yield "comment of 1 MB", "/*" + "x" * 1_000_000 + "*/ message R { int32 a = 1; }", b"\x00\x08\x01"
    plain = "message R { repeated int32 a = 1; bytes b = 2; map<int32, int32> c = 3; }"
    for count in (2**62, -1, 10**6):
        yield f"{count} indexes", plain, varint(count) + b"\x00" * 1_000
    yield "packed million", plain, b"\x00\x0a\xc0\x84\x3d" + b"\x01" * 1_000_000
    yield "unknown fields", plain, b"\x00" + b"\x78\x01" * 200_000
    yield "groups in each other", plain, b"\x00" + b"\x7b" * 200_000
    yield "entries of a map", plain, b"\x00" + b"\x1a\x04\x08\x01\x10\x01" * 100_000
    yield "length of 2^64", plain, b"\x00\x12" + b"\xff" * 9 + b"\x01abc"


def json_schema_bombs() -> Iterator[tuple[str, Any, bytes]]:
    """Yield names, JSON Schemas and texts."""
    text = {"type": "object", "properties": {"a": {"type": "string"}}}
    yield "recursive", {"type": "object", "properties": {"a": {"$ref": "#"}}}, b'{"a": {}}'
    yield "references in a ring", {"$ref": "#/definitions/a", "definitions": {"a": {"$ref": "#/definitions/a"}}}, b"{}"
    chain = {f"d{i}": {"$ref": f"#/definitions/d{i + 1}"} for i in range(5_000)}
    yield "5,000 references", {"$ref": "#/definitions/d0", "definitions": chain}, b"{}"
    yield "file of another", {"$ref": "file:///etc/passwd"}, b"{}"
    yield "another server", {"$ref": "http://127.0.0.1:1/x"}, b"{}"
    for kind in ("allOf", "oneOf", "properties"):
        yield f"expanding {kind}", _expanding(kind), b'{"a": "x"}'
    choice = {"type": "object", "properties": {"a": {"type": ["string", "null"] * 5_000}}}
    yield "10,000 types", choice, b'{"a": "x"}'
    for kind, entry in (
        ("allOf", {"properties": {"x": {"type": "string"}}}),
        ("oneOf", {"type": "null"}),
        ("enum", "s"),
    ):
        uses = {f"f{i}": {"$ref": "#/definitions/d"} for i in range(2_000)}
        parts = {"definitions": {"d": {kind: [entry] * 10_000}}}
        yield f"uses of 10,000 parts, {kind}", {"type": "object", "properties": uses, **parts}, b"{}"
        combined = {"a": {"allOf": [{"$ref": "#/definitions/d"}] * 10_000}}
        yield f"10,000 uses in allOf, {kind}", {"type": "object", "properties": combined, **parts}, b"{}"
    wide = {"type": "object", "properties": {f"f{i}": {"type": "integer"} for i in range(4_999)}}
    yield "4,999 fields", wide, json.dumps({f"f{i}": i for i in range(4_999)}).encode()
    yield "200,000 parts", {**text, "x": [{}] * 200_000}, b'{"a": "x"}'
    yield "type in a list", {"type": "object", "properties": {"a": {"type": "integer", "connect.type": ["x"]}}}, b"{}"
    yield "name that is not Unicode", {"type": "object", "properties": {"\ud800": {"type": "string"}}}, b"{}"
    for depth in DEPTHS:
        nested = "[" * depth + "]" * depth
        for key in ("default", "title", "enum"):
            value = f"[{nested}]" if key == "enum" else nested
            yield (
                f"{key} of {depth} levels",
                f'{{"properties": {{"a": {{"type": "string", "{key}": {value}}}}}}}',
                b"{}",
            )
    yield from ((name, text, payload) for name, payload in _payloads(b'"a"'))


def _expanding(kind: str) -> dict[str, Any]:
    def level(inner: str) -> dict[str, Any]:
        refs = [{"$ref": f"#/definitions/{inner}"}] * 3
        return {"properties": dict(zip("abc", refs, strict=True))} if kind == "properties" else {kind: refs}

    last = {"type": "object", "properties": {"a": {"type": "string"}}}
    return {**level("d20"), "definitions": {"d0": last, **{f"d{i}": level(f"d{i - 1}") for i in range(1, 21)}}}


def _payloads(name: bytes) -> Iterator[tuple[str, bytes]]:
    yield "100,000 brackets", b"{" + name + b":" + b"[" * 100_000
    yield "100,000 brackets, closed", b'{"b":' + b"[" * 100_000 + b"]" * 100_000 + b"," + name + b':"x"}'
    for number in (b"9" * 10_000, b"1e999999999", b"0e999999999", b"1e-999999999", b"0." + b"1" * 10_000):
        yield f"the number {number[:5].decode()}…{number[-1:].decode()}", b"{" + name + b":" + number + b"}"
    yield "text of 1 MB", b"{" + name + b':"' + b"x" * 1_000_000 + b'"}'
    yield "half a pair", b"{" + name + b':"\\ud800"}'
    yield "text that is not UTF-8", b"{" + name + b':"' + b"\xff" * 1_000 + b'"}'


def connect_json_bombs() -> Iterator[tuple[str, Any, bytes]]:
    """Yield names, schemas of Connect's and payloads."""
    for kind in ("string", "int64", "double", "bytes", "array"):
        for name, payload in _payloads(b'"a"'):
            schema: dict[str, Any] = {"type": kind} | ({"items": {"type": "int32"}} if kind == "array" else {})
            yield f"{kind}: {name}", ext_json_records.struct(a=schema), payload
    for name, payload in _payloads(b'"a"'):
        yield f"decimal: {name}", ext_json_records.struct(a=_decimal("2")), payload
    for scale in ("39", "-1", "9" * 5_000, "1e3", "٣"):
        yield f"scale {scale[:5]}", ext_json_records.struct(a=_decimal(scale)), b'{"a":1.5}'
    yield "date out of range", ext_json_records.struct(a={"type": "int32", "name": DATE}), b'{"a":2147483647}'
    pairs = {"type": "map", "keys": {"type": "int32"}, "values": {"type": "int32"}}
    yield "entries of a map", ext_json_records.struct(a=pairs), b'{"a":[' + b",".join([b"[1,2]"] * 20_000) + b"]}"
    yield "4,998 fields", ext_json_records.struct(**{f"f{i}": "int32" for i in range(4_998)}), b"{}"
    yield "6,000 fields", ext_json_records.struct(**{f"f{i}": "int32" for i in range(6_000)}), b"{}"
    yield "schema of 1 MB", {**ext_json_records.struct(a="int32"), "doc": "x" * 1_000_000}, b'{"a":1}'
    yield "name that is not Unicode", ext_json_records.struct(**{"\ud800": "int32"}), b"{}"
    yield "50,000 levels", '{"type":"array","items":' * 50_000, b"{}"
    for depth in DEPTHS:
        nested = "[" * depth + "]" * depth
        for more in (f'"default":{nested}', f'"parameters":{{"a":{nested}}}', f'"type":{nested}', f'"doc":{nested}'):
            field = f'{{"field":"a","type":"string",{more}}}'
            yield f"{more[:6]} of {depth} levels", f'{{"type":"struct","fields":[{field}]}}', b'{"a":"x"}'
        yield f"payload of {depth} levels", ext_json_records.struct(a="string"), b'{"a":' + nested.encode() + b"}"


def _decimal(scale: str) -> dict[str, Any]:
    return {"type": "bytes", "name": DECIMAL, "parameters": {"scale": scale}}
