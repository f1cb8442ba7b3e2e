"""Types proposed by values without a schema (the sink's rules of inference).

string, boolean → themselves · integer → long · float, also ``1.0`` → double · list → list of its first element's type ·
object → struct of its non-empty entries · null, ``{}``, ``[]``, list with an empty first element → no proposal.

Two proposals for one column merge: structs take the union of their fields in the order seen, long and double become
double, otherwise the first one seen wins and a value that does not fit it is rejected when it is converted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyiceberg.types import (
    BooleanType,
    DoubleType,
    IcebergType,
    ListType,
    LongType,
    NestedField,
    PrimitiveType,
    StringType,
    StructType,
)


@dataclass(frozen=True)
class ListOf:
    """A list of optional elements."""

    element: Proposal


@dataclass(frozen=True)
class StructOf:
    """A struct of optional fields, in record order."""

    fields: tuple[tuple[str, Proposal], ...]


Proposal = str | ListOf | StructOf

_PRIMITIVES: dict[str, PrimitiveType] = {
    "string": StringType(),
    "boolean": BooleanType(),
    "long": LongType(),
    "double": DoubleType(),
}


def infer(value: Any) -> Proposal | None:
    """Propose a type for one JSON value; None where nothing can be said."""
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float):
        return "double"
    if isinstance(value, dict):
        fields = tuple((name, proposal) for name, entry in value.items() if (proposal := infer(entry)) is not None)
        return StructOf(fields) if fields else None
    if isinstance(value, list):
        return _infer_list(value)
    return None if value is None else "long"


def _infer_list(values: list[Any]) -> Proposal | None:
    element = infer(values[0]) if values else None
    if element is None:
        return None
    # Later elements add their keys: the sink would drop them from this very record.
    if element != "string":
        for value in values[1:]:
            element = merge(element, infer(value))
    return ListOf(element)


def merge(first: Proposal, later: Proposal | None) -> Proposal:
    """Merge a later proposal for the same column into the first one."""
    if later is None or first == later:
        return first
    if {first, later} == {"long", "double"}:
        return "double"
    if isinstance(first, ListOf) and isinstance(later, ListOf):
        return ListOf(merge(first.element, later.element))
    if isinstance(first, StructOf) and isinstance(later, StructOf):
        fields = dict(first.fields)
        for name, proposal in later.fields:
            fields[name] = merge(fields[name], proposal) if name in fields else proposal
        return StructOf(tuple(fields.items()))
    return first


def extend(proposal: Proposal, value: Any) -> Proposal:
    """Widen a proposal by one more value of its column, looking into lists that begin with an empty element too."""
    if isinstance(proposal, StructOf) and isinstance(value, dict):
        fields: dict[str, Proposal | None] = dict(proposal.fields)
        for name, entry in value.items():
            known = fields.get(name)
            fields[name] = infer(entry) if known is None else extend(known, entry)
        return StructOf(tuple((name, field) for name, field in fields.items() if field is not None))
    if isinstance(proposal, ListOf) and isinstance(value, list):
        element = proposal.element
        for entry in value:
            element = extend(element, entry)
        return ListOf(element)
    return merge(proposal, infer(value))


def count(proposal: Proposal) -> int:
    """Count the columns a proposal brings, nested ones included."""
    if isinstance(proposal, ListOf):
        return 1 + count(proposal.element)
    if isinstance(proposal, StructOf):
        return 1 + sum(count(field) for _, field in proposal.fields)
    return 1


def iceberg_type(proposal: Proposal) -> IcebergType:
    """Turn a proposal into an Iceberg type; its field ids are placeholders, to be assigned by whoever adds it."""
    if isinstance(proposal, ListOf):
        return ListType(element_id=-1, element=iceberg_type(proposal.element), element_required=False)
    if isinstance(proposal, StructOf):
        return StructType(
            *(
                NestedField(field_id=-1 - position, name=name, field_type=iceberg_type(field), required=False)
                for position, (name, field) in enumerate(proposal.fields)
            )
        )
    return _PRIMITIVES[proposal]
