"""What ``add.fields`` and ``add.headers`` add to rows and records of MongoDB."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from floe.config.transforms.debezium.reference import Reference
from floe_job.connect.schema import ABSENT, ConnectSchema, Kind
from floe_job.exceptions import TransformRefused
from floe_job.transform.debezium.event_parts import locate, value_in
from floe_job.transform.debezium.header_bytes import header_bytes
from floe_job.transform.requirements import required_struct, shown

_PLAIN: Final[dict[type, Kind]] = {str: Kind.STRING, bool: Kind.BOOLEAN, int: Kind.INT64, type(None): Kind.STRING}


def added_headers(
    references: Iterable[Reference], event: Any, schema: ConnectSchema | None
) -> list[tuple[str, bytes | None]]:
    """Return the headers that name parts of an event; those that it has. Raises TransformRefused."""
    if schema is None:
        parts = ((one.name, value_in(one, event)) for one in references)
        return [(name, header_bytes(None, value)) for name, value in parts if value is not ABSENT]
    required_struct(schema, "add.headers")
    return [(one.name, header_bytes(one.schema, one.value(event))) for one in locate(references, schema)]


def added_fields(
    references: tuple[Reference, ...], event: Any, schema: ConnectSchema | None
) -> Iterator[tuple[str, ConnectSchema, Any]]:
    """Yield name, schema and value of each part of an event. Raises TransformRefused where there is no such part."""
    if schema is None:
        for one in references:
            value = value_in(one, event)
            if type(value) not in _PLAIN:
                problem = f"add.fields names {one.field!r}, and the event has no text or number there"
                raise TransformRefused(problem)
            yield one.name, ConnectSchema(_PLAIN[type(value)], optional=True), value
        return
    located = {one.name: one for one in locate(references, schema)}
    for one in references:
        found = located.get(one.name)
        if found is None:
            problem = f"add.fields names {one.field!r}, which the event does not have"
            raise TransformRefused(problem)
        value = found.value(event)
        if found.schema.kind in (Kind.STRUCT, Kind.MAP):
            if value is not None:
                problem = (
                    f"add.fields names {one.field!r}, which has fields of its own, {shown(value)}: name one of these"
                )
                raise TransformRefused(problem)
            continue
        yield one.name, found.schema, value
