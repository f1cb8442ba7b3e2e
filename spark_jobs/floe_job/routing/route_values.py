"""Route values: the text of each record that determines its tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from floe.config.sections.routing import Routing
from floe_job.contract.rejected_record import Rejected
from floe_job.convert.base import Converters, FieldConverter
from floe_job.routing.key_texts import UNROUTABLE, ReadKeys
from floe_job.source.record_batch import UNREADABLE, Records
from floe_job.stages import ROUTE, VALUE_CONVERTER

Matches = Callable[[Sequence[str]], "np.ndarray[Any, np.dtype[np.bool_]]"]


class RouteValues:
    """Reads the route values of records: from a field, a header or the key."""

    def __init__(self, routing: Routing, converters: Converters, read_keys: ReadKeys) -> None:
        """``converters``: of values. ``read_keys``: what reads keys, where they are routed by."""
        self._routing = routing
        self._field = converters.for_field(routing.path) if routing.by == "field" else None
        self._read_keys = read_keys

    def of(self, records: Records) -> tuple[Sequence[Rejected], pa.Array]:
        """Return the values as text, null where there is none, of those records that are not rejected."""
        if self._field is not None:
            return self._of_field(records, self._field)
        if self._routing.by == "key":
            return self._read_keys(records)
        return self._of_headers(records)

    def _of_field(self, records: Records, field: FieldConverter) -> tuple[Sequence[Rejected], pa.Array]:
        rejected, texts = field.read(records.content)
        return [_renamed(one, self._routing.path) for one in rejected], texts

    def _of_headers(self, records: Records) -> tuple[Sequence[Rejected], pa.Array]:
        name = self._routing.header
        texts, bad = [], []
        for index, headers in enumerate(records.all_headers()):
            if headers is None:
                bad.append(Rejected(index, ROUTE, UNREADABLE, UNROUTABLE))
                continue
            raw = _last(headers, name)
            try:
                texts.append(None if raw is None else raw.decode())
            except UnicodeDecodeError:
                bad.append(Rejected(index, ROUTE, f"the header {name!r} is not UTF-8", UNROUTABLE))
        return bad, pa.array(texts, pa.large_string())


def matcher(pattern: str) -> Matches:
    """Compile an expression that has to match a whole value.

    By Arrow's engine, or by floe's own for what that refuses (look-around, say): the time of either is linear in the values.
    """
    from floe.config.expressions.java_regex import compile_expression  # not above: few connectors have patterns

    compiled = compile_expression(pattern)
    whole = rf"\A(?:{compiled.pattern})\z"
    try:
        pc.match_substring_regex(pa.array([""]), whole)
    except pa.ArrowInvalid:
        return lambda values: np.array(compiled.matches(values), np.bool_)

    def matches(values: Sequence[str]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        found = pc.match_substring_regex(pa.array(values, pa.large_string()), whole)
        return np.asarray(found.to_numpy(zero_copy_only=False), np.bool_)

    return matches


def _renamed(rejected: Rejected, path: Sequence[str]) -> Rejected:
    """Reject a record whose field cannot be read as one without a route."""
    if rejected.stage == VALUE_CONVERTER:  # no value of it can be read
        return rejected
    reason = f"the route field {'.'.join(path)!r} cannot be read: {rejected.reason}"
    return Rejected(rejected.index, ROUTE, reason, UNROUTABLE)


def _last(headers: Sequence[tuple[str, bytes | None]], name: str) -> bytes | None:
    return next((value for key, value in reversed(headers) if key == name), None)
