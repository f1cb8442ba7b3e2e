"""Kafka's ReplaceField: fields are left out, or get another name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from floe.config.transforms.kafka.replace_field import ReplaceField
from floe_job.connect.schema import ABSENT, ConnectSchema
from floe_job.exceptions import TransformRefused
from floe_job.transform.field_steps.demand import Demands
from floe_job.transform.requirements import required_object, required_struct
from floe_job.transform.struct_fields import defaults_of
from floe_job.transform.value_change import Changed, ChangedColumns, Origin, Origins, ValueChange

PURPOSE = "field replacement"
_SHOWN_CHARACTERS: Final = 100


class ReplaceFieldChange(ValueChange):
    """Leaves fields out and renames them, at the top of an object or a struct."""

    def __init__(self, options: ReplaceField) -> None:
        self._options = options
        self._names = dict(options.renames)

    def _is_kept(self, name: str) -> bool:
        return name not in self._options.exclude and (not self._options.include or name in self._options.include)

    def plain(self, value: Any, origin: Origin | None) -> Any:
        """Replace the fields of an object; of two fields that get one name the later one counts."""
        value = required_object(value, PURPOSE)
        return {self._names.get(name, name): entry for name, entry in value.items() if self._is_kept(name)}

    def typed(self, schema: ConnectSchema) -> Changed:
        """Replace the fields of structs."""
        made = self._schema(schema)
        pairs = [(name, self._names.get(name, name)) for name, _ in schema.fields if self._is_kept(name)]
        defaults = defaults_of(schema, is_on=self._options.fills_defaults)

        def change(value: Any, origin: Origin | None) -> Any:
            return {
                new: defaults.get(old) if value[old] is None and old in defaults else value[old] for old, new in pairs
            }

        return Changed(made, change)

    def columns(self, schema: ConnectSchema) -> ChangedColumns | None:
        """Replace the columns; not where a default may have to be filled in."""
        made = self._schema(schema)
        kept = [index for index, (name, _) in enumerate(schema.fields) if self._is_kept(name)]
        filled = [index for index in kept if self._options.fills_defaults and schema.fields[index][1].has_default]

        def change(column: pa.Array, origins: Callable[[], Origins]) -> pa.Array | None:
            if any(column.field(index).null_count for index in filled):
                return None
            arrays = [column.field(index) for index in kept]
            fields = [pa.field(name, array.type) for (name, _), array in zip(made.fields, arrays, strict=True)]
            if not arrays:
                return None
            return pa.StructArray.from_arrays(arrays, fields=fields)

        return ChangedColumns(made, change)

    @property
    def is_of_fields(self) -> bool:
        """It is, see ``ValueChange``."""
        return True

    def demands(self, wanted: Demands) -> Demands:
        """Read columns from the fields that they are named after. An object with both names is read the exact way."""
        old_of = {new: old for old, new in self._options.renames}

        def before(name: str) -> str | None:
            old = old_of.get(name, name)
            return None if (old == name and name in self._names) or not self._is_kept(old) else old

        columns = {
            column: demand if demand.field is None else demand.of(before(demand.field))
            for column, demand in wanted.columns.items()
        }
        hidden = {before(name) for name in wanted.hidden} - {None} | set(self._options.exclude)
        probed = {before(name) for name in wanted.probed} | {
            new for new in old_of if self._is_kept(new) and new not in self._names
        }
        if self._options.include and wanted.grows and not wanted.closed:
            # a field that is left, and has no column yet
            read = {demand.field for demand in columns.values()} | hidden
            probed |= {name for name in self._options.include if self._is_kept(name) and name not in read}
        return Demands(
            columns,
            wanted.grows,
            frozenset(name for name in hidden if name is not None),
            frozenset(name for name in probed if name is not None),
            wanted.closed or bool(self._options.include),
        )

    def _schema(self, schema: ConnectSchema) -> ConnectSchema:
        """Return the schema of changed structs, which is not optional, as Java's.

        Java refuses them as well where a field keeps its name and another one gets it; or, if that other one is left out, it
        writes that one's value.
        """
        required_struct(schema, PURPOSE)
        fields = tuple((self._names.get(name, name), inner) for name, inner in schema.fields if self._is_kept(name))
        taken = set(self._names.values())
        kept = [name for name, _ in schema.fields if self._is_kept(name) and name not in self._names and name in taken]
        if kept:
            problem = (
                f"{PURPOSE} gives a name that another field has: {kept[0][:_SHOWN_CHARACTERS]!r}; leave that one out"
            )
            raise TransformRefused(problem)
        return replace(schema, fields=fields, optional=False, default=ABSENT)
