"""The schemas that MongoDB's values get, as Debezium's ``MongoDataConverter`` gives them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, cast

from floe_job.connect import logical
from floe_job.connect.schema import ConnectSchema, array
from floe_job.connect.schema import Kind as Type
from floe_job.exceptions import TransformRefused
from floe_job.transform.documents.extended_json import Bson, Document, DocumentKind, is_empty
from floe_job.transform.struct_fields import shown
from floe_job.types.header_texts.header_text import in_hash_order
from floe_job.types.typed_values import Moment

PATTERN_NAME: Final = "io.debezium.mongodb.regex"
TEXT: Final = ConnectSchema(Type.STRING, optional=True)
_TIME: Final = ConnectSchema(Type.INT64, True, logical.TIMESTAMP, 1)
_TEXTS: Final = array(TEXT, optional=True)
_PATTERN: Final = ConnectSchema(Type.STRUCT, True, PATTERN_NAME, fields=(("regex", TEXT), ("options", TEXT)))
SCALARS: Final = {
    **dict.fromkeys(
        (DocumentKind.NULL, DocumentKind.STRING, DocumentKind.OBJECT_ID, DocumentKind.CODE, DocumentKind.DECIMAL), TEXT
    ),
    DocumentKind.DOUBLE: ConnectSchema(Type.FLOAT64, optional=True),
    DocumentKind.BINARY: ConnectSchema(Type.BYTES, optional=True),
    DocumentKind.INT32: ConnectSchema(Type.INT32, optional=True),
    DocumentKind.INT64: ConnectSchema(Type.INT64, optional=True),
    DocumentKind.BOOLEAN: ConnectSchema(Type.BOOLEAN, optional=True),
    **dict.fromkeys((DocumentKind.DATE, DocumentKind.TIMESTAMP), _TIME),
}
"""The schema of a value of each kind that holds no others."""

Fields = dict[str, ConnectSchema]


@dataclass(frozen=True)
class DocumentSchemas:
    """Makes schemas. ``as_documents``: arrays become structs, with a field for each element.

    ``has_empty_arrays``: an array that is empty in all documents of an array is one of texts; else such arrays are refused.
    """

    as_documents: bool = False
    has_empty_arrays: bool = True

    def struct(self, name: str | None, document: Document, *, optional: bool = True) -> ConnectSchema:
        """Return the schema of a document. Raises TransformRefused."""
        return ConnectSchema(Type.STRUCT, optional, name, fields=tuple(self.fields(name, document).items()))

    def fields(self, name: str | None, document: Document) -> Fields:
        """Return the schemas of a document's fields; ``name``: of the struct. Raises TransformRefused."""
        found: Fields = {}
        for key, value in document.items():
            self._add(found, name, key, value)
        return found

    def _add(self, fields: Fields, name: str | None, key: str, value: Bson) -> None:
        schema = self._schema(f"{'null' if name is None else name}.{key}", value)
        if schema is not None:
            if not key:
                problem = "a field of the document has no name"
                raise TransformRefused(problem)
            fields[key] = schema

    def _schema(self, name: str, value: Bson) -> ConnectSchema | None:
        """Return the schema of a field; ``name``: of its struct, if it is one. None for what gets no field."""
        if value.kind in SCALARS:
            return SCALARS[value.kind]
        if value.kind is DocumentKind.PATTERN:
            return _PATTERN
        if value.kind is DocumentKind.SCOPED_CODE:
            scope = self.struct(f"{name}.scope", value.value[1])
            return ConnectSchema(Type.STRUCT, False, name, fields=(("code", TEXT), ("scope", scope)))
        if value.kind is DocumentKind.DOCUMENT:
            return self.struct(name, value.value)
        if value.kind is not DocumentKind.ARRAY:
            return None
        if self.as_documents:
            return self.struct(name, elements_of(value))
        if not value.value:
            return _TEXTS
        first = value.value[0].kind
        _require_alike(name, value, first)
        return array(self._element(name, first, value), optional=True)

    def _element(self, name: str, kind: DocumentKind, value: Bson) -> ConnectSchema:
        """Return the schema of an array's elements, the first of which is of a kind."""
        if kind in SCALARS:
            return SCALARS[kind]
        if kind is DocumentKind.DOCUMENT:
            return self._documents(name, [one.value for one in value.value])
        if kind is DocumentKind.ARRAY:
            first = value.value[0]
            return array(self._element(name, first.value[0].kind, first), optional=True)
        problem = f"the array {_shown(name)} has elements of the type {kind.value}, which no column has"
        raise TransformRefused(problem)

    def _documents(self, name: str, documents: list[Document]) -> ConnectSchema:
        """Return one schema for the documents of an array: it has the fields of all."""
        found: Fields = {}
        known: dict[str, DocumentKind] = {}
        self._add_all(found, known, name, documents, with_empty=False)
        if not found:
            self._add_all(found, known, name, documents, with_empty=True)
        if self.has_empty_arrays:
            for document in documents:
                for key, value in document.items():
                    if key not in known and value.kind is DocumentKind.ARRAY and not value.value:
                        found[key] = _TEXTS
        return ConnectSchema(Type.STRUCT, True, name, fields=tuple(found.items()))

    def _add_all(
        self, found: Fields, known: dict[str, DocumentKind], name: str, documents: list[Document], *, with_empty: bool
    ) -> None:
        for document in documents:
            for key, value in document.items():
                if not with_empty and is_empty(value):
                    continue
                if key not in known:
                    known[key] = value.kind
                    self._add(found, name, key, value)
                else:
                    _require_kind(name, key, value.kind, known)


def elements_of(value: Bson) -> Document:
    """Return the elements of an array as the fields of a document, in the order of Java's HashMap."""
    named = {f"_{place}": element for place, element in enumerate(value.value)}
    try:
        return dict(in_hash_order(named, is_long=True))
    except ValueError as error:
        problem = f"an array of {len(named)} elements cannot be a document: {error}"
        raise TransformRefused(problem) from error


def _shown(name: str) -> str:
    """Return the path of a field: the name of its struct, without that of a document that has none."""
    return shown(name.removeprefix("null."))


def _require_alike(name: str, value: Bson, kind: DocumentKind) -> None:
    """Raise TransformRefused unless the elements of an array have one kind; documents, one kind for each field."""
    known: dict[str, DocumentKind] = {}
    for element in value.value:
        if element.kind is not kind:
            raise _unlike(name, kind, element.kind)
        if kind is DocumentKind.DOCUMENT:
            for key, entry in element.value.items():
                _require_kind(name, key, entry.kind, known)
        elif kind is DocumentKind.ARRAY:
            if not element.value:
                problem = f"the array {_shown(name)} has an empty array in it, whose type is not known"
                raise TransformRefused(problem)
            _require_alike(name, element, element.value[0].kind)


def _require_kind(name: str, key: str, kind: DocumentKind, known: dict[str, DocumentKind]) -> None:
    before = known.setdefault(key, kind)
    if before is DocumentKind.NULL:
        known[key] = kind
    elif kind is not DocumentKind.NULL and kind is not before:
        raise _unlike(".".join((name, key)), before, kind)


def _unlike(name: str, first: Any, other: Any) -> TransformRefused:
    return TransformRefused(
        f"the array {_shown(name)} has elements of the types {first.value} and {other.value}: set array.encoding "
        "(array_handling_mode) to document, or write one type"
    )


# MongoDB's values as their schemas have them, as Debezium's ``MongoDataConverter`` makes them.


_MAX_MILLIS: Final = (2**63 - 1) // 1000


def struct_of(document: Document, schema: ConnectSchema, *, as_documents: bool) -> dict[str, Any]:
    """Return a document as a struct of a schema. Raises TransformRefused for what the schema does not have."""
    fields = dict(schema.fields)
    found: dict[str, Any] = dict.fromkeys(fields)
    for key, value in document.items():
        if value.kind is DocumentKind.OTHER:
            continue
        if key not in fields:
            problem = (
                f"the field {shown(key)} of the document is not in the schema that the array's first documents give"
            )
            raise TransformRefused(problem)
        found[key] = _value(value, fields[key], as_documents=as_documents)
    return found


def _value(value: Bson, schema: ConnectSchema, *, as_documents: bool) -> Any:
    if value.kind is DocumentKind.NULL:
        return None
    if value.kind in SCALARS:
        wanted = SCALARS[value.kind]
        if (wanted.kind, wanted.name) != (schema.kind, schema.name):
            raise _misfit(value, schema)
        return _scalar(value)
    if value.kind is DocumentKind.ARRAY:
        if schema.kind is not (Type.STRUCT if as_documents else Type.ARRAY):
            raise _misfit(value, schema)
        if as_documents:
            return struct_of(elements_of(value), schema, as_documents=True)
        element = cast(ConnectSchema, schema.element)
        return [_value(one, element, as_documents=False) for one in value.value if one.kind is not DocumentKind.NULL]
    if schema.kind is not Type.STRUCT:
        raise _misfit(value, schema)
    if value.kind is DocumentKind.PATTERN:
        return dict(zip(("regex", "options"), value.value, strict=True))
    if value.kind is DocumentKind.SCOPED_CODE:
        scope = struct_of(value.value[1], dict(schema.fields)["scope"], as_documents=as_documents)
        return {"code": value.value[0], "scope": scope}
    return struct_of(value.value, schema, as_documents=as_documents)


def _scalar(value: Bson) -> Any:
    if value.kind not in (DocumentKind.DATE, DocumentKind.TIMESTAMP):
        return value.value
    millis = value.value if value.kind is DocumentKind.DATE else value.value * 1000
    if abs(millis) > _MAX_MILLIS:
        problem = f"a date of the document is {millis} ms from 1970, which no column has"
        raise TransformRefused(problem)
    return Moment(millis * 1000)


def _misfit(value: Bson, schema: ConnectSchema) -> TransformRefused:
    kind = schema.name if schema.name == logical.TIMESTAMP else schema.kind.value
    return TransformRefused(f"a value of the type {value.kind.value} is in an array whose others are {kind}")
