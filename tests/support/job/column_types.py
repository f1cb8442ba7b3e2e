"""Types of columns, to be drawn."""

from __future__ import annotations

from hypothesis import strategies as st
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)


def primitives(*decimals: tuple[int, int]) -> st.SearchStrategy[PrimitiveType]:
    """Types without fields. ``decimals``: precision and scale of those among them."""
    return st.sampled_from(
        [
            BooleanType(),
            IntegerType(),
            LongType(),
            FloatType(),
            DoubleType(),
            StringType(),
            DateType(),
            TimeType(),
            TimestampType(),
            TimestamptzType(),
            *(DecimalType(precision, scale) for precision, scale in decimals),
            UUIDType(),
            BinaryType(),
            FixedType(2),
        ]
    )
