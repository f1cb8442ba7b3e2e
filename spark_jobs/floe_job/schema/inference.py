"""Types proposed by values without a schema (the sink's rules of inference).

string, boolean → themselves · integer → long · float, also ``1.0`` → double · list → list of its first element's type
that there is · object → struct of its non-empty entries · null, ``{}``, ``[]``, and what holds nothing else → no proposal.
What transforms made, see ``floe_job.types.typed_values``: a moment → timestamptz · bytes → binary · decimal → decimal.

Two proposals for one column merge: structs take the union of their fields in the order seen, long and double become
double, decimals one with the digits of both. Otherwise they are in conflict, and ``ColumnRules.on_conflict`` decides at the
deepest place where they differ:
``dead-letter``, the first one seen wins and a value that does not fit it is rejected when it is converted; ``string``, the
column becomes text; ``fail``, nothing is written.
"""

from __future__ import annotations

from typing import Any, overload

from floe_job.connect.arrow import MAX_DIGITS
from floe_job.exceptions import VALUE_LENGTH, SchemaConflict, clip
from floe_job.schema.proposal import (
    DECIMAL,
    ELEMENT,
    ON_CONFLICT_KEY,
    PLAIN,
    VALUE,
    ColumnRules,
    ListOf,
    MapOf,
    OnConflict,
    Path,
    Proposal,
    Required,
    StructOf,
    bare,
)
from floe_job.types.numbers import HugeInteger, Literal, Single
from floe_job.types.typed_values import MADE, kind_of_made

SCALAR_KINDS: dict[type, str] = {
    str: "string",
    bool: "boolean",
    float: "double",
    Literal: "double",
    Single: "double",
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
    return None if value is None else kind_of_made(value) if type(value) in MADE else "long"


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


_WIDER = {
    frozenset({"int", "long"}): "long",
    frozenset({"float", "double"}): "double",
    frozenset({"int", "float"}): "double",
    frozenset({"int", "double"}): "double",
    frozenset({"long", "float"}): "double",
    frozenset({"long", "double"}): "double",
}
"""The numbers of which one type holds both, but for decimals."""
_FLOATING = frozenset({"float", "double"})
_DIGITS = {"int": 10, "long": 19}


def wider(first: str, later: str) -> str | None:
    """Return the number type that holds the values of two; None where there is none.

    Of two decimals it has the digits of both, 38 at most: those behind the point come first, and a value that is too large
    then is rejected, not rounded.
    """
    if first == later:
        return first
    if "decimal" not in first and "decimal" not in later:
        return _WIDER.get(frozenset({first, later}))
    if not _FLOATING.isdisjoint((first, later)):
        return "double"
    digits = (_decimal_digits(first), _decimal_digits(later))
    if None in digits:
        return None
    whole, scale = (max(one[part] for one in digits if one is not None) for part in (0, 1))
    return f"decimal({min(MAX_DIGITS, whole + scale)}, {scale})"


def _decimal_digits(kind: str) -> tuple[int, int] | None:
    """Return how many digits a type has before its point and behind; None for what is no whole number and no decimal."""
    if kind in _DIGITS:
        return _DIGITS[kind], 0
    found = DECIMAL.fullmatch(kind)
    return None if found is None else (int(found[1]) - int(found[2]), int(found[2]))


def merge(first: Proposal, later: Proposal | None, rules: ColumnRules = PLAIN, path: Path = ()) -> Proposal:
    """Merge a later proposal for the same column into the first one; ``path`` names the column in a SchemaConflict."""
    if later is None or first == later:
        return first
    if isinstance(first, Required) or isinstance(later, Required):
        merged = bare(merge(bare(first), bare(later), rules, path))
        return Required(merged) if isinstance(first, Required) and isinstance(later, Required) else merged
    if isinstance(first, str) and isinstance(later, str):
        return wider(first, later) or resolve_conflict(first, later, rules, path)
    if isinstance(first, ListOf) and isinstance(later, ListOf):
        return ListOf(merge(first.element, later.element, rules, (*path, ELEMENT)))
    if isinstance(first, MapOf) and isinstance(later, MapOf):
        key = _key(first.key, later.key)
        if key is not None:
            return MapOf(key, merge(first.value, later.value, rules, (*path, VALUE)))
    if isinstance(first, StructOf) and isinstance(later, StructOf):
        return _merge_structs(first, later, rules, path)
    return resolve_conflict(first, later, rules, path)


def _key(first: Proposal, later: Proposal) -> Proposal | None:
    """Return the type of keys that holds those of two maps; None where there is none."""
    if first == later:
        return first
    return wider(first, later) if isinstance(first, str) and isinstance(later, str) else None


def _merge_structs(first: StructOf, later: StructOf, rules: ColumnRules, path: Path) -> StructOf:
    """Take the union of the fields; one that only one of the structs has is optional."""
    fields = {same_name(name, rules): (name, proposal) for name, proposal in first.fields}
    both = fields.keys() & {same_name(name, rules) for name, _ in later.fields}
    for name, proposal in later.fields:
        known, so_far = fields.setdefault(same_name(name, rules), (name, proposal))
        fields[same_name(name, rules)] = known, merge(so_far, proposal, rules, (*path, known))
    return StructOf(tuple((name, one if same in both else bare(one)) for same, (name, one) in fields.items()))


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
    proposal = bare(proposal)
    if isinstance(proposal, str):
        return proposal
    return "list" if isinstance(proposal, ListOf) else "map" if isinstance(proposal, MapOf) else "struct"


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
