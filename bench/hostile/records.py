"""Records made to be expensive: each of about 300 bytes, and made of its number alone.

``records``: for larger records, the number that has as many bytes as 20,000 of 300 bytes. ``columns``: the table's columns
besides those of pizzas. ``routing``: where records name their tables.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.types import LongType, MapType, NestedField, StringType

from bench.records import PIZZA
from floe.config.converters.base import PLAIN_JSON, ConverterSpec
from floe.config.sections.routing import Routing
from floe_job.convert.typed.schema_source import SchemaSource

BYTES = 300
WIDE_BYTES = 8_000
DEAD_LETTERS = "abcdefghij"


@dataclass(frozen=True)
class HostileShape:
    """A kind of hostile record. ``make`` takes its number. ``schema_of``: what the registry has under an id."""

    name: str
    make: Callable[[int], bytes]
    columns: tuple[NestedField, ...] = ()
    case_insensitive: bool = False
    routing: Routing | None = None
    size: int = BYTES
    converter: ConverterSpec = PLAIN_JSON
    schema_of: SchemaSource | None = None

    @property
    def schema(self) -> Schema:
        """The columns of the table that such records are for."""
        note = NestedField(1000, "note", StringType(), required=False)
        return Schema(*PIZZA.schema.fields, note, *self.columns)

    def values(self, records: int) -> list[bytes]:
        """Return as many records as have together the size of ``records`` records of 300 bytes."""
        return [self.make(number) for number in range(records * BYTES // self.size)]


def pizza(number: int) -> bytes:
    """Return an order of 300 bytes, the baseline for all others."""
    (order,) = PIZZA.values(number, 1)
    return order[:-1] + b',"note":"' + b"x" * (BYTES - len(order) - 10) + b'"}'


def _padded(record: dict[str, Any]) -> bytes:
    """Return a record with a note that pads it to 300 bytes."""
    text = json.dumps(record, separators=(",", ":"))
    note = json.dumps({"note": "x" * max(0, BYTES - len(text) - 10)}, separators=(",", ":"))
    return (text if len(text) > BYTES - 10 else f"{text[:-1]},{note[1:]}").encode()


def _nested(levels: int, key: str = "a") -> dict[str, Any]:
    record: dict[str, Any] = {key: 1}
    for _ in range(levels - 1):
        record = {key: record}
    return record


def _cases(number: int) -> bytes:
    dice = random.Random(number)  # noqa: S311 - spellings, not secrets
    keys = {"".join(dice.choice((c, c.upper())) for c in DEAD_LETTERS) for _ in range(19)}
    return json.dumps(dict.fromkeys(sorted(keys), 1), separators=(",", ":")).encode()


def _of(value: str) -> bytes:
    return f'{{"n":{value}}}'.encode()


def _sparse(number: int) -> bytes:
    return _padded({f"w{(number * 37 + i * 11) % 990:03d}": "x" * 8 for i in range(14)})


def _half(number: int) -> bytes:
    """Return one half of 990 columns; the next record has the other half."""
    return json.dumps({f"w{i:03d}": i for i in range(number % 2, 990, 2)}, separators=(",", ":")).encode()


def _wide(_: int) -> bytes:
    return json.dumps({f"w{i:03d}": i for i in range(1000)}, separators=(",", ":")).encode()


_MAP = (NestedField(1001, "m", MapType(1002, StringType(), 1003, LongType(), value_required=False), required=False),)
_ALTERNATING = (1, "x", True, {"b": 1}, [1], 1.5)


def _by_field(template: str) -> Routing:
    return Routing("field", ("t",), template=template, on_unroutable="dead-letter", max_new_tables=100_000)


def shapes() -> Iterator[HostileShape]:
    """Yield all shapes: ids for keys first, then depth, names, types, width, routes, and what is no record at all."""
    yield HostileShape("an id for a key", lambda i: _padded({f"c{i}": "x"}))
    yield HostileShape("20 ids for keys", lambda i: json.dumps({f"c{i}_{j}": j for j in range(20)}).encode())
    yield HostileShape("an id beside an order", lambda i: pizza(i)[:-80] + b'","c%d":1}' % i)
    yield HostileShape("an id in every second order", lambda i: _padded({f"c{i}": "x"}) if i % 2 else pizza(i))
    yield HostileShape("an id in every 50th order", lambda i: pizza(i) if i % 50 else _padded({f"c{i}": "x"}))
    yield HostileShape("ids that come again", lambda i: _padded({f"c{i % 5000}": "x"}))
    yield HostileShape("an id in an object", lambda i: _padded({"m": {f"c{i}": 1}}))
    yield HostileShape("an id for an object", lambda i: _padded({"m": {f"c{i}": {"a": 1, "b": 2}}}))
    yield HostileShape("ids five levels deep", lambda i: _padded({"a": {"b": {"c": {"d": {f"k{i}": {"v": i}}}}}}))
    yield HostileShape("ids in a list of objects", lambda i: _padded({"l": [{f"c{i}_{j}": j} for j in range(5)]}))
    yield HostileShape("ids and wider types in a list", lambda i: _padded({"l": [{"a": 1}, {"a": 1.5, f"b{i}": 2}]}))
    yield HostileShape("ids without a value", lambda i: json.dumps({f"c{i}_{j}": None for j in range(18)}).encode())
    yield HostileShape("ids of empty objects", lambda i: json.dumps({f"c{i}_{j}": {} for j in range(18)}).encode())
    yield HostileShape("60 levels", lambda i: json.dumps(_nested(60), separators=(",", ":")).encode())
    yield HostileShape("70 levels", lambda i: json.dumps(_nested(70, ""), separators=(",", ":")).encode())
    yield HostileShape("30 levels of seven keys", lambda i: _padded(_nested(30, f"a{i % 7}")))
    yield HostileShape("140 brackets", lambda i: _of("[" * 140 + "]" * 140))
    yield HostileShape("20 lists in one another", lambda i: _of("[" * 20 + ",".join("1" * 125) + "]" * 20))
    yield HostileShape("keys of 230 characters", lambda i: _padded({"k" * 230 + str(i): "x" * 30}))
    yield HostileShape("keys of 280 characters", lambda i: _padded({"k" * 280 + str(i): 1}))
    yield HostileShape("keys with 29 dots", lambda i: _padded({".".join([f"a{i}"] * 30): 1}))
    yield HostileShape("keys that files spell otherwise", lambda i: _padded({f"1-{i}/é.{j}": 1 for j in range(14)}))
    yield HostileShape("escaped ids for keys", lambda i: b'{"\\u006b%d":"' % i + b"x" * 280 + b'"}')
    yield HostileShape("control characters in keys", lambda i: _padded({f"\u0001{i}": 1}))
    yield HostileShape("19 spellings of a key", _cases, case_insensitive=True)
    yield HostileShape(
        "the same key 45 times", lambda i: ("{" + ",".join(f'"a":{j}' for j in range(45)) + "}").encode()
    )
    yield HostileShape(
        "a new column of six types", lambda i: _padded({"a": _ALTERNATING[i % 6], "b": [1, {"c": 2}][i % 2]})
    )
    yield HostileShape("a column of six types", lambda i: _padded({"store_id": _ALTERNATING[i % 6]}))
    yield HostileShape("integers of 285 digits", lambda i: _of("9" * 285))
    yield HostileShape("lists of four types", lambda i: _of("[" + ",".join(['1,"x",true,1.5'] * 19) + "]"))
    yield HostileShape("lists of numbers", lambda i: _of("[" + ",".join("1" * 145) + "]"))
    yield HostileShape("lists of objects", lambda i: _of(json.dumps([{f"k{j}": j} for j in range(22)])))
    yield HostileShape("maps of ids", lambda i: _padded({"m": {f"k{i}_{j}": j for j in range(20)}}), _MAP)
    yield HostileShape("1,000 fields", _wide, size=WIDE_BYTES + 900)
    yield HostileShape("halves of 990 columns", _half, size=WIDE_BYTES // 2 + 500)
    yield HostileShape("14 of 990 columns", _sparse)
    yield HostileShape("a new table each", lambda i: _padded({"t": f"t{i}"}), routing=_by_field("hostile.{value}"))
    yield HostileShape("an unusable table each", lambda i: _padded({"t": f"no-{i}"}), routing=_by_field("{value}"))
    yield HostileShape("no JSON", lambda i: b"{" + b"x" * 298 + b"}")
    yield HostileShape("no UTF-8", lambda i: b'{"a":"' + b"\xff" * 290 + b'"}')
    yield HostileShape("no object", lambda i: b"[" + b"1," * 149 + b"1]")
