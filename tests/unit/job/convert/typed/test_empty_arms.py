"""A branch of a union that has no fields: no column has it, and which branch was sent must not be lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField, StringType

from floe_job.convert.context import ConverterContext
from floe_job.convert.makers import converters_of
from floe_job.schema.proposal import ColumnRules
from tests.support.avro import varint
from tests.support.job.formats.avro_orders import registered
from tests.support.job.formats.avro_records import CONFLUENT

EMPTY = {"type": "record", "name": "Gone", "fields": []}
PAID = {"type": "record", "name": "Paid", "fields": [{"name": "sum", "type": "int"}]}
UNION = ["null", EMPTY, PAID]
NULL, GONE, PAID_7 = varint(0), varint(1), varint(2) + varint(7)
AROUND: dict[str, Any] = {
    "top": (lambda kind: kind, lambda value: value, "u.Gone"),
    "struct": (
        lambda kind: {"type": "record", "name": "In", "fields": [{"name": "x", "type": kind}]},
        lambda value: value,
        "u.x.Gone",
    ),
    "list": (
        lambda kind: {"type": "array", "items": kind},
        lambda value: varint(2) + PAID_7 + value + varint(0),
        "u.element.Gone",
    ),
    "map": (
        lambda kind: {"type": "map", "values": kind},
        lambda value: varint(1) + varint(1) + b"k" + value + varint(0),
        "u.value.Gone",
    ),
}


def decoded(schema: Any, values: list[bytes], *, evolve: bool = True, string: bool = False) -> Any:
    record = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}, {"name": "u", "type": schema}]}
    context = ConverterContext(lambda _: lambda _: registered(json.dumps(record)))
    converters = converters_of(CONFLUENT, context)
    texts = [b"\x00\x00\x00\x00\x07" + varint(i) + value for i, value in enumerate(values)]
    table = Schema(
        NestedField(1, "id", IntegerType(), required=False), NestedField(2, "u", StringType(), required=False)
    )
    if not string:
        first = converters.for_table(None, ColumnRules(evolve=True), create=True)
        first.decode(texts)
        table = first.needs.new_schema()
    found = converters.for_table(table, ColumnRules(evolve=evolve), create=False).decode(texts)
    return found.rejected, found.table.column("id").to_pylist()


@pytest.mark.parametrize("where", AROUND)
def test_branch_without_fields_is_rejected_and_not_lost(where: str) -> None:
    around, written, path = AROUND[where]
    rejected, rows = decoded(around(UNION), [written(one) for one in (PAID_7, GONE, NULL, GONE, PAID_7)])
    assert rows == [0, 2, 4]
    assert [(one.index, one.stage) for one in rejected] == [(1, "coerce"), (3, "coerce")]
    assert f"column {path!r}: it is the branch of a union that has no fields" in rejected[0].reason


def test_union_of_branches_without_fields_has_no_column_and_is_rejected() -> None:
    other = {"type": "record", "name": "Other", "fields": []}
    rejected, rows = decoded(["null", EMPTY, other], [NULL, GONE, varint(2), NULL])
    assert (rows, [one.index for one in rejected]) == ([0, 3], [1, 2])


def test_branch_without_fields_is_dropped_where_columns_are_not_added_and_kept_as_text() -> None:
    assert decoded(UNION, [PAID_7, GONE], evolve=False) == ((), [0, 1])
    assert decoded(UNION, [PAID_7, GONE], string=True) == ((), [0, 1])


def test_struct_without_fields_that_is_no_branch_is_no_loss() -> None:
    assert decoded(["null", EMPTY], [varint(1), NULL]) == ((), [0, 1])
