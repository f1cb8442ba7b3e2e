"""The sink's own rows of records, and floe's, to be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.table import Table, TableProperties
from pyiceberg.table.name_mapping import NameMapping
from pyiceberg.table.update.schema import UpdateSchema

from floe_job.convert.base import Converters
from floe_job.schema.proposal import ColumnRules
from stack.services.kafka_connect import PACKAGES
from tests.support.java.program import Ask
from tests.support.java.rows import rows_json

PROGRAM = "org.apache.iceberg.connect.data.SinkCheck"
SINK_PACKAGES = (
    *PACKAGES,
    "io.apicurio:apicurio-registry-utils-converter:2.6.13.Final",
    "org.apache.avro:avro:1.12.1",
    "org.slf4j:slf4j-nop:2.0.17",
)
EMPTY_GROUP = "Cannot write a schema with an empty group"
"""The sink's error for a struct without fields: it makes such a column, and no Parquet file has one."""
MAX_UPDATES = 5
"""After so many the driver of floe gives up."""


@dataclass(frozen=True)
class Rows:
    """What becomes of records: by place the rows, and the errors (the step, a blank, what is wrong)."""

    created: Schema | None
    schema: Schema | None
    rows: Mapping[int, Mapping[str, Any]]
    errors: Mapping[int, str]


def sink_rows(
    ask: Ask,
    records: Sequence[bytes],
    *,
    avro: Sequence[str] = (),
    table: Schema | None = None,
    options: Mapping[str, str] | None = None,
    keys: Mapping[str, str] | None = None,
    mapping: NameMapping | None = None,
) -> Rows:
    """Ask the sink; ``table``: None for one that it makes. ``avro``: the schemas of records, by id.

    ``options``: of the converter. ``keys``: of the sink, after ``iceberg.tables.``. ``mapping``: of the table.
    """
    request = {
        "converter": "avro" if avro else "json",
        "schemas": list(avro),
        "options": dict(options or {}),
        "keys": {f"iceberg.tables.{name}": value for name, value in (keys or {}).items()},
        "table": None if table is None else table.model_dump(mode="json"),
        "properties": {} if mapping is None else {TableProperties.DEFAULT_NAME_MAPPING: mapping.model_dump_json()},
        "records": [one.hex() for one in records],
    }
    answer = ask(request)
    schemas = [Schema.model_validate(answer[key]) if key in answer else None for key in ("created", "schema")]
    rows = {place: one["row"] for place, one in enumerate(answer["rows"]) if "row" in one}
    errors = {place: f"{one['stage']} {one['error']}" for place, one in enumerate(answer["rows"]) if "error" in one}
    assert len(rows) + len(errors) == len(records)
    return Rows(schemas[0], schemas[1], rows, errors)


def floe_rows(
    converters: Converters,
    records: Sequence[bytes],
    any_table: Table,
    rules: ColumnRules,
    table: Schema | None = None,
    mapping: NameMapping | None = None,
) -> Rows:
    """Convert records, with as many updates of the schema as it takes; ``table``: None for one that floe makes."""
    created = None
    for _ in range(MAX_UPDATES):
        converter = converters.for_table(table, rules, create=table is None, name_mapping=mapping)
        decoded = converter.decode(records)
        if not converter.needs:
            break
        if table is None:
            created = table = converter.needs.new_schema()
            continue
        update = UpdateSchema(any_table.transaction(), schema=table)
        converter.needs.apply(update)
        table = update._apply()
    assert not converter.needs
    errors = {one.index: f"{one.stage} {one.error} {one.reason}" for one in decoded.rejected}
    places = [place for place in range(len(records)) if place not in errors]
    rows = [] if decoded.table is None or table is None else rows_json(decoded.table, table)
    return Rows(created, table, dict(zip(places, rows, strict=True)), errors)
