"""The code of a transform of values: their schemas, of Avro and others, stay."""

from __future__ import annotations

from typing import Any

from floe_example.lower_case import LowerCase
from floe_job.connect.schema import ConnectSchema
from floe_job.transform.value_change import Changed, Origin, ValueChange


class LowerCaseChange(ValueChange):
    """Makes texts of some fields lower case; what is no text, no such field or no object stays as it is."""

    def __init__(self, options: LowerCase) -> None:
        self._fields = options.fields

    def plain(self, value: Any, origin: Origin | None) -> Any:
        """Change a value without a schema; what is no object may be of ``floe_job.types.typed_values``."""
        return self._lowered(value) if type(value) is dict else value

    def typed(self, schema: ConnectSchema) -> Changed:
        """Return the schema of what values of a schema become, and what changes one: a struct is a dict."""
        return Changed(schema, self.plain)

    def _lowered(self, value: dict[str, Any]) -> dict[str, Any]:
        found = {name: value[name].lower() for name in self._fields if isinstance(value.get(name), str)}
        return {**value, **found}
