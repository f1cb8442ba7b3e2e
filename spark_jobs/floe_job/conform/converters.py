"""Values without a schema into the column types of an Iceberg table; the target type decides.

The rules are those of the Kafka Connect sink, with one difference in spirit: a conversion that would lose something
(overflow, 2.7 into a long, "yes" into a boolean) is refused instead of done. A converter takes a JSON value that is not
null and returns what ``pyarrow.array`` takes for the Arrow storage type of the column, or raises ``Unconvertible``:

int, long → int · float, double → float · decimal → Decimal · boolean → bool · string → str · uuid, binary, fixed →
bytes · date → epoch days · time, timestamp, timestamptz → microseconds · list → list · map → pairs · struct → dict.
"""

from __future__ import annotations

from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from floe.parquet.exceptions import UnsupportedColumn
from floe_job.conform.clocks import date_column, time_column, timestamp_column, timestamptz_column
from floe_job.conform.lookup import EXACT, Lookup
from floe_job.conform.quantities import decimal_column, double_column, float_column, int_column, long_column
from floe_job.conform.texts import binary_column, boolean_column, fixed_column, string_column, uuid_column
from floe_job.conform.trees import Converter, Trees
from floe_job.conform.wishes import Wishes

_PRIMITIVES: dict[type[IcebergType], Converter] = {
    IntegerType: int_column,
    LongType: long_column,
    FloatType: float_column,
    DoubleType: double_column,
    BooleanType: boolean_column,
    StringType: string_column,
    UUIDType: uuid_column,
    BinaryType: binary_column,
    DateType: date_column,
    TimeType: time_column,
    TimestampType: timestamp_column,
    TimestamptzType: timestamptz_column,
}


def converter(target: IcebergType, lookup: Lookup = EXACT) -> Converter:
    """Compile the converter for a column type. Raises UnsupportedColumn for types floe cannot write."""
    return Trees(_primitive, lookup).converter(target)


def field_converter(field: NestedField, lookup: Lookup = EXACT, wishes: Wishes | None = None) -> tuple[str, Converter]:
    """Compile name and converter of one column; the converter takes the record's values by column name.

    With ``wishes`` a value that a promotion would fit, or a null that an optional column would, is noted there, and the
    record converts; its row is then of no use.
    """
    return Trees(_primitive, lookup, wishes).field_converter(field)


def _primitive(target: IcebergType) -> Converter:
    if isinstance(target, DecimalType):
        return decimal_column(target)
    if isinstance(target, FixedType):
        return fixed_column(len(target))
    if type(target) in _PRIMITIVES:
        return _PRIMITIVES[type(target)]
    problem = f"a column of type {target} cannot be written by floe; drop it or change its type"
    raise UnsupportedColumn(problem)
