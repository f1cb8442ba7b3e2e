"""The sink's JsonToMapTransform: texts of JSON become structs, whose objects are maps of texts."""

from __future__ import annotations

from typing import Any, Final

from floe.config.transforms.iceberg.json_to_map import JsonToMap
from floe_job.connect.schema import ConnectSchema, Kind, map_of, struct
from floe_job.convert.json.parse import parse_value
from floe_job.exceptions import Malformed, TransformRefused
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.changed_records import ChangedRecords
from floe_job.transform.iceberg.json_schema import schema_of, text_map, value_of
from floe_job.transform.requirements import shown

_STRING: Final = ConnectSchema(Kind.STRING)
_PAYLOAD: Final = "payload"
_WHOLE: Final = struct({_PAYLOAD: map_of(_STRING, _STRING, optional=True)})

MAX_KNOWN: Final = 1000
"""Schemas that are kept, so that records of one schema have one."""


class JsonMaps:
    """Makes structs of texts: a ``RecordTransform``."""

    def __init__(self, options: JsonToMap) -> None:
        self._is_whole = options.is_whole
        self._known: dict[ConnectSchema, ConnectSchema] = {}

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Change the texts; what is no JSON object is refused, tombstones stay."""
        records = ChangedRecords(batch)

        def change(row: int, value: Any, schema: ConnectSchema | None) -> None:
            if value is not None:
                records.set_value(row, *self._changed(value))

        return records.each(change)

    def _changed(self, value: Any) -> tuple[dict[str, Any], ConnectSchema]:
        if not isinstance(value, str):
            problem = f"the value is no text of JSON, but {shown(value)}: set value.converter to StringConverter"
            raise TransformRefused(problem)
        try:
            found = parse_value(value.encode("utf-8", "surrogatepass"))
        except Malformed as error:
            problem = f"the value is {error.reason}"
            raise TransformRefused(problem) from error
        if type(found) is not dict:
            problem = f"the value is no JSON object, but {shown(value)}"
            raise TransformRefused(problem)
        if self._is_whole:
            return {_PAYLOAD: text_map(found)}, _WHOLE
        return self._flat(found)

    def _flat(self, found: dict[str, Any]) -> tuple[dict[str, Any], ConnectSchema]:
        if "" in found:
            problem = "the object has a field without a name"
            raise TransformRefused(problem)
        schemas = {name: schema_of(entry) for name, entry in found.items()}
        fields = {name: schema for name, schema in schemas.items() if schema is not None}
        value = {name: value_of(found[name], schema) for name, schema in fields.items()}
        return value, self._one(struct(fields))

    def _one(self, schema: ConnectSchema) -> ConnectSchema:
        known = self._known.get(schema)
        if known is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[schema] = schema
        return known
