"""Kafka's transforms of headers: DropHeaders, InsertHeader and HeaderFrom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from floe.config.transforms.kafka_records import DropHeaders, HeaderFrom, InsertHeader
from floe_job.connect.schema import ConnectSchema
from floe_job.convert.typed.whole_values import TypedValues
from floe_job.exceptions import TransformRefused
from floe_job.source.messages import Headers
from floe_job.source.record_batch import UNREADABLE
from floe_job.transform.batch import ParsedBatch, objects_of, schemas_of
from floe_job.transform.struct_fields import defaults_of, filled, required_object, required_struct, shown, struct_like
from floe_job.transform.value_change import MAX_KNOWN
from floe_job.types.header_texts.header_text import header_text
from floe_job.types.header_texts.literal import literal_text


class HeaderDrop:
    """Leaves headers out by their names; headers that cannot be read stay as they are."""

    def __init__(self, options: DropHeaders) -> None:
        self._names = frozenset(options.headers)

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Leave the headers out."""
        names = self._names
        return batch.changed(
            headers=[
                headers if headers is None else [one for one in headers if one[0] not in names]
                for headers in batch.read_headers()
            ]
        )


class HeaderInsert:
    """Adds a header behind the others; a record whose headers cannot be read is refused."""

    def __init__(self, options: InsertHeader) -> None:
        self._header = (options.header, literal_text(options.literal))

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Add the header."""
        headers = batch.read_headers()
        added = [None if one is None else [*one, self._header] for one in headers]
        return batch.changed(headers=added).reject(_unreadable(headers))


class HeaderCopy:
    """Adds headers with fields of values or keys, behind the others; the fields may be left out."""

    def __init__(self, options: HeaderFrom) -> None:
        self._options = options
        self._purpose = f"{'move' if options.moves else 'copy'} field to header"
        self._gone = frozenset(name for name, _ in options.pairs) if options.moves else frozenset()
        self._known: dict[int, tuple[ConnectSchema, _Compiled | TransformRefused]] = {}

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Add the headers; a record whose value has no fields is refused, and one whose headers cannot be read."""
        is_key = self._options.side == "key"
        values = objects_of(batch.parsed_keys if is_key else batch.values)
        schemas, found = schemas_of(values), list(batch.read_headers())
        refused = _unreadable(found)
        made, made_schemas = list(values), list(schemas)
        for row, (value, schema, headers) in enumerate(zip(values, schemas, found, strict=True)):
            try:
                added, made[row], made_schemas[row] = self._changed(value, schema)
            except TransformRefused as error:
                refused[row] = error.reason
            else:
                found[row] = None if headers is None else [*headers, *added]
        changed: dict[str, Any] = {"headers": found}
        if self._gone:
            is_typed = isinstance(values, TypedValues)
            changed["keys" if is_key else "values"] = TypedValues(made, made_schemas) if is_typed else made
        return batch.changed(**changed).reject(refused)

    def _changed(self, value: Any, schema: ConnectSchema | None) -> tuple[Headers, Any, ConnectSchema | None]:
        """Return the new headers, and the value that is left with its schema. Raises TransformRefused."""
        if schema is None:
            given = required_object(value, self._purpose)
            added = [(header, self._text(None, given.get(name))) for name, header in self._options.pairs]
            return added, {name: one for name, one in given.items() if name not in self._gone}, None
        compiled = self._compiled(schema)
        missing = [name for name, _ in self._options.pairs if name not in compiled.fields]
        if missing:
            problem = f"the struct has no field {shown(missing[0])}, for {self._purpose}"
            raise TransformRefused(problem)
        given = filled(value, compiled.defaults)
        added = [(header, self._text(compiled.fields[name], given[name])) for name, header in self._options.pairs]
        return added, {name: one for name, one in given.items() if name not in self._gone}, compiled.left

    def _text(self, schema: ConnectSchema | None, value: Any) -> bytes | None:
        try:
            return header_text(schema, value)
        except ValueError as error:
            raise TransformRefused(str(error)) from None

    def _compiled(self, schema: ConnectSchema) -> _Compiled:
        if id(schema) not in self._known:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            try:
                self._known[id(schema)] = (schema, self._compile(schema))
            except TransformRefused as error:
                self._known[id(schema)] = (schema, error)
        compiled = self._known[id(schema)][1]
        if isinstance(compiled, TransformRefused):
            raise compiled
        return compiled

    def _compile(self, schema: ConnectSchema) -> _Compiled:
        required_struct(schema, self._purpose)
        left = schema
        if self._gone:
            left = struct_like(schema, (one for one in schema.fields if one[0] not in self._gone), optional=False)
        defaults = defaults_of(schema, is_on=self._options.fills_defaults)
        return _Compiled(dict(schema.fields), left, defaults)


class _Compiled(NamedTuple):
    """What is known of a schema: its fields, what is left of it, and the defaults that fields get for null."""

    fields: dict[str, ConnectSchema]
    left: ConnectSchema
    defaults: dict[str, Any]


def _unreadable(headers: Sequence[Headers | None]) -> dict[int, str]:
    return {row: UNREADABLE for row, one in enumerate(headers) if one is None}
