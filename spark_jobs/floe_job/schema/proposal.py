"""The types of new columns: what values or their schemas propose, and what Iceberg makes of it.

A primitive is the text of its Iceberg type: ``long``, ``timestamptz``, ``decimal(38, 2)``. Values without a schema propose
string, boolean, long and double only, and nothing that is required.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    PrimitiveType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

Path = tuple[str, ...]
"""The way from the table's root to a column: fields by name, in a list ``element``, in a map ``key`` and ``value``."""

ELEMENT, KEY, VALUE = "element", "key", "value"


@dataclass(frozen=True)
class ListOf:
    """A list."""

    element: Proposal


@dataclass(frozen=True)
class MapOf:
    """A map; its keys are always required."""

    key: Proposal
    value: Proposal


@dataclass(frozen=True)
class StructOf:
    """A struct, its fields in record order."""

    fields: tuple[tuple[str, Proposal], ...]


@dataclass(frozen=True)
class Required:
    """What is never null, by the schema of its values. All else is optional."""

    type: str | ListOf | MapOf | StructOf


Proposal = str | ListOf | MapOf | StructOf | Required

PRIMITIVES: Final[dict[str, PrimitiveType]] = {
    "string": StringType(),
    "boolean": BooleanType(),
    "int": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "binary": BinaryType(),
    "date": DateType(),
    "time": TimeType(),
    "timestamp": TimestampType(),
    "timestamptz": TimestamptzType(),
    "uuid": UUIDType(),
}

DECIMAL: Final = re.compile(r"decimal\((\d{1,2}), (\d{1,2})\)")


def primitive(text: str) -> PrimitiveType:
    """Read the text of a primitive type. Raises KeyError for one that no column gets."""
    decimal = DECIMAL.fullmatch(text)
    return DecimalType(int(decimal[1]), int(decimal[2])) if decimal else PRIMITIVES[text]


def bare(proposal: Proposal) -> str | ListOf | MapOf | StructOf:
    """Return a proposal without regard to whether it is required."""
    return proposal.type if isinstance(proposal, Required) else proposal


def inside(path: Path, proposal: Proposal) -> Iterator[tuple[Path, Proposal]]:
    """Yield what is right inside a proposal, with its path."""
    proposal = bare(proposal)
    if isinstance(proposal, ListOf):
        yield (*path, ELEMENT), proposal.element
    elif isinstance(proposal, MapOf):
        yield (*path, KEY), proposal.key
        yield (*path, VALUE), proposal.value
    elif isinstance(proposal, StructOf):
        for name, field in proposal.fields:
            yield (*path, name), field


def count(proposal: Proposal) -> int:
    """Count the columns of a proposal, nested ones included."""
    return 1 + sum(count(nested) for _, nested in inside((), proposal))


def iceberg_type(proposal: Proposal) -> IcebergType:
    """Turn a proposal into an Iceberg type; its field ids are placeholders, to be replaced when it is added."""
    proposal = bare(proposal)
    if isinstance(proposal, ListOf):
        element = proposal.element
        return ListType(-1, iceberg_type(element), element_required=isinstance(element, Required))
    if isinstance(proposal, MapOf):
        value = proposal.value
        return MapType(
            -1, iceberg_type(proposal.key), -2, iceberg_type(value), value_required=isinstance(value, Required)
        )
    if isinstance(proposal, StructOf):
        return StructType(
            *(
                NestedField(-1 - position, name, iceberg_type(field), required=isinstance(field, Required))
                for position, (name, field) in enumerate(proposal.fields)
            )
        )
    return primitive(proposal)


# How the records of one table find their columns, and what becomes of those that the table lacks.


OnConflict = Literal["dead-letter", "string", "fail"]

ON_CONFLICT_KEY = "floe.schema.on-conflict"


@dataclass(frozen=True)
class ColumnRules:
    """The connector's rules for columns.

    ``evolve``: add columns, promote types, make columns optional. ``case_insensitive``: look columns up without regard to
    case; ignored where the table has a name mapping. ``on_conflict``: what two types for one new column become.
    ``injected``: top-level names that a transform fills in beside the record; fields of these names in a record are
    ignored. ``taken``: full names of all columns of such a transform: they count, and no column of a record may get one of
    them. ``reserved``: full names that partition fields of the table have, and so no new column may. ``force_optional``:
    nothing in a new column is required, whatever the schema of its values says. ``debezium_types``: Debezium's semantic types
    are read as what they mean. ``case_twins``: new columns may differ from others by case only, which most engines cannot
    read.
    """

    evolve: bool = False
    case_insensitive: bool = False
    on_conflict: OnConflict = "dead-letter"
    injected: frozenset[str] = frozenset()
    taken: frozenset[str] = frozenset()
    reserved: frozenset[str] = frozenset()
    force_optional: bool = False
    debezium_types: bool = False
    case_twins: bool = False


PLAIN = ColumnRules()
