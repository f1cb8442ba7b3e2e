"""Types proposed by values without a schema (the sink's rules of inference).

string, boolean → themselves · integer → long · float, also ``1.0`` → double · list → list of its first element's type
that there is · object → struct of its non-empty entries · null, ``{}``, ``[]``, and what holds nothing else → no proposal.

Two proposals for one column merge: structs take the union of their fields in the order seen, long and double become
double. Otherwise they are in conflict, and ``ColumnRules.on_conflict`` decides at the deepest place where they differ:
``dead-letter``, the first one seen wins and a value that does not fit it is rejected when it is converted; ``string``, the
column becomes text; ``fail``, nothing is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, overload

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

from floe_job.exceptions import VALUE_LENGTH, SchemaConflict, clip
from floe_job.schema.rules import ON_CONFLICT_KEY, PLAIN, ColumnRules, OnConflict
from floe_job.types.number_tokens import HugeInteger, Literal

Path = tuple[str, ...]
"""The way from the table's root to a column: fields by name, inside a list ``element``, inside a map ``value``."""

ELEMENT, VALUE = "element", "value"


@dataclass(frozen=True)
class ListOf:
    """A list of optional elements."""

    element: Proposal


@dataclass(frozen=True)
class StructOf:
    """A struct of optional fields, in record order."""

    fields: tuple[tuple[str, Proposal], ...]


Proposal = str | ListOf | StructOf

PRIMITIVES: dict[str, PrimitiveType] = {
    "string": StringType(),
    "boolean": BooleanType(),
    "long": LongType(),
    "double": DoubleType(),
}

SCALAR_KINDS: dict[type, str] = {
    str: "string",
    bool: "boolean",
    float: "double",
    Literal: "double",
    int: "long",
    HugeInteger: "long",
}
"""What scalars propose, by their Python type."""


def infer(value: Any, rules: ColumnRules = PLAIN, path: Path = ()) -> Proposal | None:
    """Propose a type for one JSON value; None where it has none.

    Raises SchemaConflict, with ``path`` as the column's name, if the value is in conflict with itself and the rules say so.
    """
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float):
        return "double"
    if isinstance(value, dict):
        return _infer_struct(value, rules, path)
    if isinstance(value, list):
        return _infer_list(value, rules, (*path, ELEMENT))
    return None if value is None else "long"


def kind_of_all(values: list[Any], on_conflict: OnConflict) -> str | None:
    """Propose one type for values that are scalars all, or null; None where some are not, or are in conflict and it fails."""
    found = set(map(type, values))
    found.discard(type(None))
    kinds = {SCALAR_KINDS.get(kind) for kind in found}
    if len(kinds) == 1:
        return kinds.pop()
    if not kinds or None in kinds or on_conflict == "fail":
        return None
    if on_conflict == "string":
        return "double" if kinds == {"long", "double"} else "string"
    first = SCALAR_KINDS[type(next(value for value in values if value is not None))]
    return "double" if first == "long" and "double" in kinds else first


def _infer_struct(entries: dict[str, Any], rules: ColumnRules, path: Path) -> Proposal | None:
    fields = tuple(
        (name, proposal)
        for name, entry in distinct(entries, rules).values()
        if (proposal := infer(entry, rules, (*path, name))) is not None
    )
    return StructOf(fields) if fields else None


def _infer_list(values: list[Any], rules: ColumnRules, path: Path) -> Proposal | None:
    element: Proposal | None = None
    # Later elements count, and add their keys: the sink would drop them from this very record.
    for value in values:
        proposal = infer(value, rules, path)
        element = proposal if element is None else merge(element, proposal, rules, path)
        if element == "string" and rules.on_conflict != "fail":
            break
    return None if element is None else ListOf(element)


def merge(first: Proposal, later: Proposal | None, rules: ColumnRules = PLAIN, path: Path = ()) -> Proposal:
    """Merge a later proposal for the same column into the first one; ``path`` names the column in a SchemaConflict."""
    if later is None or first == later:
        return first
    if {first, later} == {"long", "double"}:
        return "double"
    if isinstance(first, ListOf) and isinstance(later, ListOf):
        return ListOf(merge(first.element, later.element, rules, (*path, ELEMENT)))
    if isinstance(first, StructOf) and isinstance(later, StructOf):
        fields = {same_name(name, rules): (name, proposal) for name, proposal in first.fields}
        for name, proposal in later.fields:
            known, so_far = fields.setdefault(same_name(name, rules), (name, proposal))
            fields[same_name(name, rules)] = known, merge(so_far, proposal, rules, (*path, known))
        return StructOf(tuple(fields.values()))
    return resolve_conflict(first, later, rules, path)


def resolve_conflict(first: Proposal, later: Proposal, rules: ColumnRules, path: Path) -> Proposal:
    """Decide between two types of which neither is wider than the other."""
    if rules.on_conflict == "fail":
        problem = (
            f"new column {clip('.'.join(path), VALUE_LENGTH)!r} comes as {_kind(first)} and as {_kind(later)}, and "
            f"{ON_CONFLICT_KEY} is 'fail'. Add the column with the type it should have, or set {ON_CONFLICT_KEY} to "
            "'string' (the column becomes text) or to 'dead-letter' (the first type counts, other values are rejected)"
        )
        raise SchemaConflict(problem)
    return "string" if rules.on_conflict == "string" else first


def _kind(proposal: Proposal) -> str:
    if isinstance(proposal, str):
        return proposal
    return "list" if isinstance(proposal, ListOf) else "struct"


def same_name(name: str, rules: ColumnRules) -> str:
    """Return what spellings of a new column's name have in common."""
    return name.lower() if rules.case_insensitive else name


def distinct(entries: dict[str, Any], rules: ColumnRules) -> dict[str, tuple[str, Any]]:
    """Return name and value of each column in an object; the first spelling names it, the value of the last one counts."""
    if not rules.case_insensitive:
        return {key: (key, entry) for key, entry in entries.items()}
    found: dict[str, tuple[str, Any]] = {}
    for key, entry in entries.items():
        same = same_name(key, rules)
        found[same] = found[same][0] if same in found else key, entry
    return found


@overload
def extend(proposal: Proposal, value: Any, rules: ColumnRules = PLAIN, path: Path = ()) -> Proposal: ...


@overload
def extend(proposal: None, value: Any, rules: ColumnRules = PLAIN, path: Path = ()) -> Proposal | None: ...


def extend(proposal: Proposal | None, value: Any, rules: ColumnRules = PLAIN, path: Path = ()) -> Proposal | None:
    """Widen a proposal, if there is one, by one more value of its column."""
    if proposal is None:
        return infer(value, rules, path)
    if isinstance(proposal, StructOf) and isinstance(value, dict):
        fields: dict[str, tuple[str, Proposal | None]] = {
            same_name(name, rules): (name, field) for name, field in proposal.fields
        }
        for same, (key, entry) in distinct(value, rules).items():
            name, known = fields.get(same, (key, None))
            fields[same] = name, extend(known, entry, rules, (*path, name))
        return StructOf(tuple((name, field) for name, field in fields.values() if field is not None))
    if isinstance(proposal, ListOf) and isinstance(value, list):
        element = proposal.element
        for entry in value:
            element = extend(element, entry, rules, (*path, ELEMENT))
        return ListOf(element)
    return merge(proposal, infer(value, rules, path), rules, path)


def count(proposal: Proposal) -> int:
    """Count the columns of a proposal, nested ones included."""
    if isinstance(proposal, ListOf):
        return 1 + count(proposal.element)
    if isinstance(proposal, StructOf):
        return 1 + sum(count(field) for _, field in proposal.fields)
    return 1


def iceberg_type(proposal: Proposal) -> IcebergType:
    """Turn a proposal into an Iceberg type; its field ids are placeholders, to be replaced when it is added."""
    if isinstance(proposal, ListOf):
        return ListType(element_id=-1, element=iceberg_type(proposal.element), element_required=False)
    if isinstance(proposal, StructOf):
        return StructType(
            *(
                NestedField(field_id=-1 - position, name=name, field_type=iceberg_type(field), required=False)
                for position, (name, field) in enumerate(proposal.fields)
            )
        )
    return PRIMITIVES[proposal]
