"""Kafka's Flatten: fields of structs in structs go to the top, with the names that lead to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa

from floe.config.transforms.kafka_fields import Flatten
from floe_job.connect.schema import ABSENT, ConnectSchema, Kind
from floe_job.convert.json.parse import MAX_DEPTH
from floe_job.exceptions import TransformRefused
from floe_job.transform.struct_fields import required_object, required_struct, shown, struct_column, struct_like
from floe_job.transform.value_change import Changed, ChangedColumns, Origin, Origins, ValueChange
from floe_job.types.typed_values import Moment

PURPOSE = "flattening"
_UNKNOWN = (Moment,)
"""What Java's class refuses in objects: there it has no type that Connect knows."""


class _Leaf(NamedTuple):
    """A field at the top: its path in the old struct, with the place of each step, and its schema."""

    path: tuple[str, ...]
    places: tuple[int, ...]
    schema: ConnectSchema


class FlattenChange(ValueChange):
    """Flattens objects in objects and structs in structs; lists stay as they are."""

    def __init__(self, options: Flatten) -> None:
        self._delimiter = options.delimiter

    def plain(self, value: Any, origin: Origin | None) -> Any:
        """Flatten an object; of two fields with one name the later one counts. Empty objects in it leave nothing."""
        found: dict[str, Any] = {}
        self._flatten(required_object(value, PURPOSE), "", found, MAX_DEPTH)
        return found

    def _flatten(self, value: dict[str, Any], prefix: str, found: dict[str, Any], levels: int) -> None:
        if not levels:
            problem = f"nested deeper than {MAX_DEPTH}, for {PURPOSE}"
            raise TransformRefused(problem)
        for name, entry in value.items():
            longer = f"{prefix}{self._delimiter}{name}" if prefix else name
            if type(entry) is dict:
                self._flatten(entry, longer, found, levels - 1)
            elif isinstance(entry, _UNKNOWN):
                problem = (
                    f"the field {shown(longer)} is a time, which {PURPOSE} does not take in values without a schema"
                )
                raise TransformRefused(problem)
            else:
                found[longer] = entry

    def typed(self, schema: ConnectSchema) -> Changed:
        """Flatten structs; maps in them have no names to make."""
        leaves, made = self._compiled(schema)
        pairs = [(name, leaf) for (name, _), leaf in zip(made.fields, leaves, strict=True)]
        return Changed(made, lambda value, _: {name: _at(value, leaf) for name, leaf in pairs})

    def columns(self, schema: ConnectSchema) -> ChangedColumns | None:
        """Flatten columns."""
        leaves, made = self._compiled(schema)

        def change(column: pa.Array, origins: Callable[[], Origins]) -> pa.Array | None:
            arrays = []
            for leaf in leaves:
                array = column
                for place in leaf.places:
                    array = array.flatten()[place]
                arrays.append(array)
            return struct_column(made, arrays)

        return ChangedColumns(made, change)

    def _compiled(self, schema: ConnectSchema) -> tuple[list[_Leaf], ConnectSchema]:
        required_struct(schema, PURPOSE)
        default = schema.default if type(schema.default) is dict else None
        leaves = list(_leaves(schema, (), (), optional=schema.optional, default=default))
        made = struct_like(schema, ((self._name(leaf.path), leaf.schema) for leaf in leaves), optional=False)
        return leaves, made

    def _name(self, path: tuple[str, ...]) -> str:
        """Return the names with delimiters; as in Java there is none behind an empty beginning."""
        name = ""
        for step in path:
            name = f"{name}{self._delimiter}{step}" if name else step
        return name


def _leaves(
    schema: ConnectSchema,
    path: tuple[str, ...],
    places: tuple[int, ...],
    *,
    optional: bool,
    default: dict[str, Any] | None,
) -> Iterator[_Leaf]:
    if len(path) > MAX_DEPTH:
        problem = f"nested deeper than {MAX_DEPTH}, for {PURPOSE}"
        raise TransformRefused(problem)
    for place, (name, inner) in enumerate(schema.fields):
        own = None if inner.default is ABSENT else inner.default
        if own is None and default is not None:
            own = default.get(name)
        here, at = (*path, name), (*places, place)
        is_optional = optional or inner.optional
        if inner.kind is Kind.STRUCT:
            yield from _leaves(inner, here, at, optional=is_optional, default=own if type(own) is dict else None)
        elif inner.kind is Kind.MAP:
            problem = (
                f"the field {shown('.'.join(here))} is a map: {PURPOSE} takes maps in values without a schema only"
            )
            raise TransformRefused(problem)
        else:
            yield _Leaf(
                here,
                at,
                replace(inner, optional=is_optional, default=ABSENT if own is None else own),
            )


def _at(value: Any, leaf: _Leaf) -> Any:
    """Return a field of a struct; null where a struct on the way is null."""
    for name in leaf.path[:-1]:
        value = value[name]
        if value is None:
            return None
    return value[leaf.path[-1]]
