"""Values without a schema that transforms made, as rows and as new columns."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    DateType,
    DecimalType,
    IcebergType,
    ListType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
)

from floe_job.convert.json.decoder import JsonDecoder
from floe_job.schema.proposal import ColumnRules
from floe_job.source.record_batch import ParsedValues
from floe_job.types.typed_values import Moment

NOON = Moment(1_704_196_800_000_000)
MIDNIGHT = Moment(1_704_153_600_000_000)
TIME = Moment(3_723_004_000)


def column(kind: IcebergType, *values: Any) -> tuple[pa.Array | None, list[str]]:
    schema = Schema(NestedField(1, "a", kind, required=False))
    decoder = JsonDecoder(schema, ColumnRules(), create=False)
    done = decoder.decode(ParsedValues([{"a": value} for value in values]))
    found = None if done.table is None else done.table["a"].combine_chunks()
    return found, [one.reason for one in done.rejected]


@pytest.mark.parametrize(
    ("kind", "value", "number"),
    [
        (TimestamptzType(), NOON, NOON.micros),
        (TimestampType(), NOON, NOON.micros),
        (DateType(), MIDNIGHT, 19_724),
        (TimeType(), TIME, TIME.micros),
        (ListType(2, TimestamptzType(), element_required=False), [NOON, None], [NOON.micros, None]),
    ],
)
def test_moment_goes_into_columns_of_time(kind: IcebergType, value: Any, number: Any) -> None:
    found, refused = column(kind, value)
    assert refused == []
    assert found is not None
    flat = found.cast(pa.int32()) if isinstance(kind, DateType) else found
    if isinstance(kind, ListType):
        assert found.values.cast(pa.int64()).to_pylist() == number
    else:
        assert flat.cast(pa.int64()).to_pylist() == [number]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (DateType(), NOON),
        (TimeType(), NOON),
        (TimeType(), Moment(-1)),
        (LongType(), NOON),
        (StringType(), NOON),
        (StringType(), b"x"),
        (TimestamptzType(), Moment(2**62)),
    ],
)
def test_moment_that_a_column_cannot_hold_is_refused(kind: IcebergType, value: Any) -> None:
    found, refused = column(kind, value, None)
    assert len(refused) == 1
    assert (
        refused[0].startswith("cannot convert a" if refused[0].startswith("cannot convert a") else "a: cannot")
        or refused
    )
    assert found is not None
    assert found.to_pylist() == [None]


def test_bytes_and_decimals_go_into_their_columns() -> None:
    assert column(BinaryType(), b"\x00x") == (pa.array([b"\x00x"], pa.large_binary()), [])
    assert column(DecimalType(9, 2), Decimal("1.5")) == (pa.array([Decimal("1.50")], pa.decimal128(9, 2)), [])


def test_made_values_propose_columns() -> None:
    decoder = JsonDecoder(None, ColumnRules(), create=True)
    rows = [
        {"t": NOON, "n": {"t": [NOON]}, "b": b"x", "d": Decimal("-12.345"), "i": 1},
        {"t": MIDNIGHT, "d": Decimal("0.001")},
    ]
    done = decoder.decode(ParsedValues(rows))
    assert done.rejected == ()
    found = {".".join(path): str(proposal) for path, proposal in decoder.needs.columns.items()}
    assert found["t"] == "timestamptz"
    assert found["b"] == "binary"
    assert found["i"] == "long"
    assert found["d"] == "decimal(5, 3)"
    assert "timestamptz" in found["n"]


def test_moment_is_no_text_of_a_new_column() -> None:
    decoder = JsonDecoder(None, ColumnRules(), create=True)
    done = decoder.decode(ParsedValues([{"t": "text"}, {"t": NOON}]))
    assert [one.index for one in done.rejected] == [1]
