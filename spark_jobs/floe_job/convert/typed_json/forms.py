"""How a format writes in JSON what has several forms."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class JsonForms:
    """The forms of one format.

    ``absent_is_null``: a field that is not there is null, even where its schema requires a value.
    ``entries_are_objects``: maps whose keys are no strings are arrays of objects with ``key`` and ``value``, else of arrays.
    ``union``: the name of structs that are a union: the value is that of one of the fields; None where there are no unions.
    """

    absent_is_null: bool
    entries_are_objects: bool
    union: str | None = None
