"""JSON without schemas, as Kafka Connect's JsonConverter reads it with ``schemas.enable=false``."""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg.schema import Schema
from pyiceberg.table.name_mapping import NameMapping

from floe.config.converters.base import ConverterSpec
from floe_job.contract.rejected_record import Rejected
from floe_job.convert.base import FieldConverter, Parsed
from floe_job.convert.context import ConverterContext
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.convert.json.parse import parse_any
from floe_job.convert.keys.json_keys import JsonKeyField, JsonKeyText
from floe_job.convert.table_field import TableField, schema_of
from floe_job.exceptions import InvalidRecord
from floe_job.schema.rules import ColumnRules
from floe_job.source.record_batch import ParsedValues


class JsonConverters:
    """Readers of JSON values."""

    def __init__(self, spec: ConverterSpec, context: ConverterContext) -> None:
        """Read what ``spec`` describes: it has no options, and JSON without schemas needs no registry."""

    def for_table(
        self, schema: Schema | None, rules: ColumnRules, *, create: bool, name_mapping: NameMapping | None = None
    ) -> JsonDecoder:
        """Make the decoder of one table."""
        return JsonDecoder(schema, rules, create=create, name_mapping=name_mapping)

    def for_field(self, path: tuple[str, ...]) -> TableField:
        """Make the reader of one field."""
        return TableField(path, JsonDecoder(schema_of(path), ColumnRules(), create=False))

    def for_key(self, path: tuple[str, ...]) -> FieldConverter:
        """Make the reader of a field of keys, or of whole keys."""
        return JsonKeyField(self.for_field(path)) if path else JsonKeyText()

    def whole(self, values: Sequence[bytes | None]) -> Parsed:
        """Parse values of any JSON type but null; floats keep their digits (``Literal``), for decimal columns."""
        parsed, rejected = ParsedValues(), []
        for index, value in enumerate(values):
            try:
                parsed.append(None if value is None else parse_any(value))
            except InvalidRecord as error:
                parsed.append(None)
                rejected.append(Rejected(index, error.stage, error.reason, type(error).__name__))
        return Parsed(parsed, tuple(rejected))
