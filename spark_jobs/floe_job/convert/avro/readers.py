"""Which reader reads which type."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from floe_job.connect.arrow import arrow_type, is_decimal
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.avro.arrays import ArrayReader, MapReader
from floe_job.convert.avro.byte_strings import BytesReader, EnumReader, FixedReader
from floe_job.convert.avro.decimals import DecimalReader
from floe_job.convert.avro.numbers import BooleanReader, FloatReader, WholeReader
from floe_job.convert.avro.options import AvroOptions
from floe_job.convert.avro.reader import Reader
from floe_job.convert.avro.schema.types import AvroType, only_branch
from floe_job.convert.avro.structs import NullReader, RecordReader, UnionReader

_KEY = ConnectSchema(Kind.STRING)


def reader_of(avro: AvroType, schema: ConnectSchema, options: AvroOptions) -> Reader:
    """Make the reader of the values of an Avro schema. ``schema``: what Connect makes of it."""
    return _Readers(options).of(avro, schema, "")


@dataclass(frozen=True)
class _Readers:
    """Makes readers. ``path``: of the field that has the values, empty for a whole value."""

    options: AvroOptions

    def of(self, avro: AvroType, schema: ConnectSchema, path: str) -> Reader:
        if avro.kind == "union":
            return self._union(avro, schema, path)
        if avro.kind == "record":
            return self._record(avro, schema, path)
        if avro.kind == "array":
            return self._array(avro, schema, path)
        if avro.kind == "map":
            return self._map(avro, schema, path)
        return _scalar(avro, schema, path)

    def _record(self, avro: AvroType, schema: ConnectSchema, path: str) -> Reader:
        fields = [
            self.of(field.type, inner, f"{path}.{name}" if path else name)
            for field, (name, inner) in zip(avro.fields, schema.fields, strict=True)
        ]
        return RecordReader(arrow_type(schema), fields, path)

    def _union(self, avro: AvroType, schema: ConnectSchema, path: str) -> Reader:
        is_flat = only_branch(avro) is not None or (len(avro.branches) == 1 and self.options.flatten_singletons)
        if is_flat:
            made = [
                NullReader() if branch.kind == "null" else self.of(branch, schema, path) for branch in avro.branches
            ]
            return UnionReader(arrow_type(schema), made, path, is_struct=False)
        fields = iter(schema.fields)
        branches: list[Reader] = []
        for branch in avro.branches:
            if branch.kind == "null":
                branches.append(NullReader())
                continue
            name, one = next(fields)
            branches.append(self.of(branch, one, f"{path}.{name}" if path else name))
        return UnionReader(arrow_type(schema), branches, path, is_struct=True)

    def _array(self, avro: AvroType, schema: ConnectSchema, path: str) -> Reader:
        assert schema.element is not None  # noqa: S101 - arrays and maps have it
        if schema.kind is not Kind.MAP:
            return ArrayReader(self.of(avro.content, schema.element, f"{path}[]"), path)
        assert schema.key is not None  # noqa: S101 - maps have it
        inner = {"key": schema.key, "value": schema.element}
        fields = [(field.name, inner[field.name], field.type) for field in avro.content.fields]
        readers = [self.of(kind, one, f"{path}.{name}") for name, one, kind in fields]
        entry = pa.struct([pa.field(name, arrow_type(one)) for name, one, _ in fields])
        key = [name for name, _, _ in fields].index("key")
        return MapReader(RecordReader(entry, readers, path), key, path)

    def _map(self, avro: AvroType, schema: ConnectSchema, path: str) -> Reader:
        assert schema.element is not None  # noqa: S101 - maps have it
        key, value = BytesReader(f"{path}.key", is_text=True), self.of(avro.content, schema.element, f"{path}.value")
        entry = pa.struct([pa.field("key", arrow_type(_KEY)), pa.field("value", arrow_type(schema.element))])
        return MapReader(RecordReader(entry, [key, value], path), 0, path)


def _scalar(avro: AvroType, schema: ConnectSchema, path: str) -> Reader:
    if is_decimal(schema):
        return DecimalReader(schema, avro.size if avro.kind == "fixed" else None, path)
    if avro.kind in ("int", "long"):
        return WholeReader(schema, path)
    if avro.kind in ("float", "double"):
        return FloatReader(schema, path)
    if avro.kind == "boolean":
        return BooleanReader(path)
    if avro.kind == "enum":
        return EnumReader(avro.symbols, path)
    if avro.kind == "fixed":
        return FixedReader(avro.size, path)
    return BytesReader(path, is_text=avro.kind == "string")
