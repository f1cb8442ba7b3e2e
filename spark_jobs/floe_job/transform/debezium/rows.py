"""The rows in change events with a schema: which fields they get."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from floe.config.transforms.debezium.deletes import Deletes
from floe.config.transforms.debezium.new_record_state import NewRecordState
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.exceptions import TransformRefused
from floe_job.transform.debezium.event_parts import EventPart, locate
from floe_job.transform.debezium.outcome import DELETED, OP
from floe_job.transform.requirements import required_struct, shown
from floe_job.transform.struct_fields import defaults_of, filled, in_java, struct_like

_NESTED: Final = (Kind.STRUCT, Kind.MAP)
_FLAG: Final = ConnectSchema(Kind.STRING, optional=True)
BLANKS: Final = "".join(map(chr, range(33)))
"""What Java counts as blank."""


@dataclass(frozen=True)
class Rows:
    """What becomes of the rows of one state, before or after the change.

    ``schema``: of the rows made. ``names``: of the fields that they have. ``flag``: the value of ``__deleted``, None for no
    such field. ``added``: the parts of the event that follow. ``absent``: parts that no field can have; a row without them
    is made. ``defaults``: of fields that get them for null.
    """

    schema: ConnectSchema
    names: tuple[str, ...]
    flag: str | None
    added: tuple[EventPart, ...]
    absent: tuple[EventPart, ...]
    defaults: dict[str, Any]

    @classmethod
    def of(cls, options: NewRecordState, event: ConnectSchema, state: str, flag: str) -> Rows:
        """Compile those of a field of the event. Raises TransformRefused where no such row can be made."""
        inner = dict(event.fields)[state]
        required_struct(inner, f"rows from {state!r} of an event")
        if dict(event.fields).get(OP, inner).kind is not Kind.STRING:
            problem = f"the event has no text {OP!r}, which says what kind of change it is"
            raise TransformRefused(problem)
        is_rewritten = options.deletes is Deletes.REWRITE
        own = (*inner.fields, *([(DELETED, _FLAG)] if is_rewritten else []))
        located = locate(options.fields, event)
        added = tuple(one for one in located if one.schema.kind not in _NESTED)
        absent = tuple(one for one in located if one.schema.kind in _NESTED)
        fields = (*own, *((one.name, one.schema) for one in added))
        if any(not name for name, _ in fields):
            problem = "the row would have a field without a name"
            raise TransformRefused(problem)
        made = struct_like(inner, fields, optional=False)
        defaults = defaults_of(inner, is_on=options.fills_defaults)
        names = tuple(name for name, _ in inner.fields)
        return cls(made, names, flag if is_rewritten else None, added, absent, defaults)

    def row(self, event: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
        """Make a row. Raises TransformRefused."""
        for one in self.absent:
            if one.value(event) is not None:
                problem = f"add.fields names {one.field!r}, which has fields of its own: name one of these"
                raise TransformRefused(problem)
        made = filled({name: state[name] for name in self.names}, self.defaults)
        if self.flag is not None:
            made[DELETED] = self.flag
        for one in self.added:
            made[one.name] = one.value(event)
        return made


def routed(value: Any) -> str | None:
    """Return the topic that a field names; None where it is null or blank. Raises TransformRefused for what is no text."""
    text = in_java(value)
    if text is None:
        return None
    if not isinstance(text, str):
        problem = f"route.by.field names a field that has no text, but {shown(value)}"
        raise TransformRefused(problem)
    return text if text.strip(BLANKS) else None
