"""The sink's DmsTransform: rows out of the change events of AWS DMS, each with a field ``_cdc``."""

from __future__ import annotations

from typing import Any, Final

from floe.config.transforms.iceberg.change_data import DmsChange
from floe_job.connect.schema import ConnectSchema
from floe_job.exceptions import TransformRefused
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.changed_records import ChangedRecords
from floe_job.transform.iceberg import cdc
from floe_job.transform.requirements import required_object

_OPERATIONS: Final = {"update": cdc.UPDATE, "delete": cdc.DELETE}
_DATA, _METADATA = "data", "metadata"


class DmsChanges:
    """Takes the rows out of change events: a ``RecordTransform``."""

    def __init__(self, options: DmsChange) -> None:
        """Read nothing of ``options``: there are none."""

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Change the events, none of which may have a schema; those without data are left out, tombstones stay."""
        records = ChangedRecords(batch)

        def change(row: int, value: Any, schema: ConnectSchema | None) -> None:
            if value is None:
                return
            if schema is not None:
                problem = "an event of AWS DMS has no schema, and the value has one"
                raise TransformRefused(problem)
            made = _row(required_object(value, "an event of AWS DMS"))
            if made is None:
                records.leave_out(row)
            else:
                records.set_value(row, made, None)

        return records.each(change)


def _row(event: dict[str, Any]) -> dict[str, Any] | None:
    """Return the row in an event; None where there is none. Raises TransformRefused."""
    data, metadata = event.get(_DATA), event.get(_METADATA)
    if type(data) is not dict or type(metadata) is not dict:
        return None
    if metadata.get("operation") is None:
        problem = "the metadata of the event has no 'operation'"
        raise TransformRefused(problem)
    operation = metadata["operation"]
    schema, table = (
        None if metadata.get(name) is None else cdc.text_of(metadata[name], f"{name!r} in the metadata")
        for name in ("schema-name", "table-name")
    )
    found = {
        cdc.OP: _OPERATIONS.get(operation, cdc.INSERT) if isinstance(operation, str) else cdc.INSERT,
        cdc.TS: metadata.get("timestamp"),
        cdc.SOURCE: cdc.source_of(schema, table),
    }
    return {**data, cdc.CDC: found}
