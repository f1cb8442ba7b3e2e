"""Records that are made to cost, each with its schema: by counts, lengths, depth, digits, and by what schemas expand to.

As a program: decodes all of them, each between two good records, and prints the bytes by which its memory grew at most.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from floe.config.converters.base import ConverterSpec
from floe.config.converters.kinds import ENVELOPE
from floe.config.properties import Properties
from floe.schema_registry.schema import RegisteredSchema, SchemaText, SchemaType
from floe_job.convert.context import ConverterContext
from floe_job.convert.makers import converters_of
from floe_job.schema.evolution import SchemaChanges
from floe_job.schema.proposal import ColumnRules
from tests.support.job.formats import avro_records, ext_json_records, json_schema_records, proto_records
from tests.support.job.formats.bomb_records import (
    avro_bombs,
    connect_json_bombs,
    json_schema_bombs,
    protobuf_bombs,
)
from tests.support.job.formats.envelopes import envelope
from tests.support.kafka.messages import values_of

GOOD: Final = 1
"""The id of the schema of the records around a bomb."""
BOMB: Final = 7

_FRAME: Final = b"\x00" + BOMB.to_bytes(4, "big")
_GOOD_FRAME: Final = b"\x00" + GOOD.to_bytes(4, "big")


@dataclass(frozen=True)
class Format:
    """A format: how its converters are configured, the schema of a good record, and that record."""

    spec: ConverterSpec
    type: SchemaType | None
    schema: str
    record: bytes


@dataclass(frozen=True)
class Bomb:
    """A record, and the schema that it names."""

    name: str
    format: str
    schema: str
    value: bytes

    def context(self) -> ConverterContext:
        """Return a registry of the bomb's schema and of the good one."""
        form = FORMATS[self.format]
        texts = {GOOD: form.schema, BOMB: self.schema}
        return ConverterContext(lambda _: lambda schema_id: RegisteredSchema(SchemaText(form.type, texts[schema_id])))


FORMATS: Final = {
    "avro": Format(
        avro_records.CONFLUENT,
        "AVRO",
        '{"type": "record", "name": "G", "fields": [{"name": "good", "type": "int"}]}',
        _GOOD_FRAME + b"\x02",
    ),
    "protobuf": Format(
        proto_records.CONFLUENT,
        "PROTOBUF",
        'syntax = "proto3"; message G { int32 good = 1; }',
        _GOOD_FRAME + b"\x00\x08\x01",
    ),
    "json schema": Format(
        json_schema_records.SPEC,
        "JSON",
        '{"type": "object", "properties": {"good": {"type": "integer"}}}',
        _GOOD_FRAME + b'{"good": 1}',
    ),
    "ext json": Format(
        ext_json_records.SPEC,
        None,
        json.dumps(ext_json_records.struct(good="int32")),
        ext_json_records.written({"good": 1}, GOOD),
    ),
    "envelope": Format(
        ConverterSpec(ENVELOPE, Properties({"replace.null.with.default": "false"})),
        None,
        "",
        envelope([("good", "int32")], good=1),
    ),
}


def bombs() -> Iterator[Bomb]:
    """Yield all of them."""
    for name, schema, datum in avro_bombs():
        yield Bomb(name, "avro", schema if isinstance(schema, str) else json.dumps(schema), _FRAME + datum)
    for name, text, message in protobuf_bombs():
        yield Bomb(name, "protobuf", f'syntax = "proto3"; {text}', _FRAME + message)
    for name, schema, text in json_schema_bombs():
        yield Bomb(name, "json schema", schema if isinstance(schema, str) else json.dumps(schema), _FRAME + text)
    for name, schema, payload in connect_json_bombs():
        text = schema if isinstance(schema, str) else json.dumps(schema)
        yield Bomb(name, "envelope", "", b'{"schema":%s,"payload":%s}' % (text.encode(), payload))
        yield Bomb(name, "ext json", text, b'{"schemaId":%d,"payload":%s}' % (BOMB, payload))


def decoded(bomb: Bomb) -> str:
    """Decode a bomb between good records into a table that it makes; return why it is no row, empty if it is one.

    Raises AssertionError where its neighbours are not rows.
    """
    form = FORMATS[bomb.format]
    values = values_of([form.record, bomb.value, form.record])
    converters = converters_of(form.spec, bomb.context())
    table = converters.for_table(None, ColumnRules(), create=True)
    table.decode(values)
    created = table.needs.new_schema()
    found = converters.for_table(created, ColumnRules(), create=False).decode(values)
    _check(found.table is not None, bomb, "there are no rows")
    good = found.table["good"].to_pylist()  # type: ignore[index]
    reasons = {one.index: one.reason for one in found.rejected}
    _check(
        set(reasons) <= {1} and good[0] == good[-1] == 1 and len(good) + len(reasons) == 3, bomb, f"{reasons}, {good}"
    )
    again = converters.for_table(created, ColumnRules(evolve=True), create=False)
    again.decode(values)
    _check(not SchemaChanges(again.needs.columns).beyond(created) or reasons != {}, bomb, f"it lacks {again.needs}")
    _whole(converters.whole, values, bomb, reasons)
    return reasons.get(1, "")


def _whole(whole: Callable[..., Any], values: Any, bomb: Bomb, reasons: dict[int, str]) -> None:
    parsed = whole(values)
    _check({one.index for one in parsed.rejected} <= {1} and len(parsed.values) == 3, bomb, f"{parsed.rejected}")
    _check(all(0 < len(reason) <= 300 and reason.isprintable() for reason in reasons.values()), bomb, f"{reasons}")


def _check(holds: bool, bomb: Bomb, problem: str) -> None:
    if not holds:
        what = f"{bomb.format}, {bomb.name}: {problem}"
        raise AssertionError(what)


def main() -> None:
    """Print by how many bytes the memory of this process grew at most."""
    made = list(bombs())
    for form in FORMATS:
        decoded(Bomb("warm", form, FORMATS[form].schema, FORMATS[form].record))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for bomb in made:
        decoded(bomb)
    sys.stdout.write(f"{(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024}\n")


if __name__ == "__main__":
    main()
