"""MongoDB's values as their schemas have them, as Debezium's ``MongoDataConverter`` makes them."""

from __future__ import annotations

from typing import Any, Final, cast

from floe_job.connect import logical
from floe_job.connect.schema import ConnectSchema
from floe_job.connect.schema import Kind as Type
from floe_job.exceptions import TransformRefused
from floe_job.transform.documents.bson import Bson, Document, Kind
from floe_job.transform.documents.schema import SCALARS, elements_of
from floe_job.transform.requirements import shown
from floe_job.types.typed_values import Moment

_MAX_MILLIS: Final = (2**63 - 1) // 1000


def struct_of(document: Document, schema: ConnectSchema, *, as_documents: bool) -> dict[str, Any]:
    """Return a document as a struct of a schema. Raises TransformRefused for what the schema does not have."""
    fields = dict(schema.fields)
    found: dict[str, Any] = dict.fromkeys(fields)
    for key, value in document.items():
        if value.kind is Kind.OTHER:
            continue
        if key not in fields:
            problem = (
                f"the field {shown(key)} of the document is not in the schema that the array's first documents give"
            )
            raise TransformRefused(problem)
        found[key] = _value(value, fields[key], as_documents=as_documents)
    return found


def _value(value: Bson, schema: ConnectSchema, *, as_documents: bool) -> Any:
    if value.kind is Kind.NULL:
        return None
    if value.kind in SCALARS:
        wanted = SCALARS[value.kind]
        if (wanted.kind, wanted.name) != (schema.kind, schema.name):
            raise _misfit(value, schema)
        return _scalar(value)
    if value.kind is Kind.ARRAY:
        if schema.kind is not (Type.STRUCT if as_documents else Type.ARRAY):
            raise _misfit(value, schema)
        if as_documents:
            return struct_of(elements_of(value), schema, as_documents=True)
        element = cast(ConnectSchema, schema.element)
        return [_value(one, element, as_documents=False) for one in value.value if one.kind is not Kind.NULL]
    if schema.kind is not Type.STRUCT:
        raise _misfit(value, schema)
    if value.kind is Kind.PATTERN:
        return dict(zip(("regex", "options"), value.value, strict=True))
    if value.kind is Kind.SCOPED_CODE:
        scope = struct_of(value.value[1], dict(schema.fields)["scope"], as_documents=as_documents)
        return {"code": value.value[0], "scope": scope}
    return struct_of(value.value, schema, as_documents=as_documents)


def _scalar(value: Bson) -> Any:
    if value.kind not in (Kind.DATE, Kind.TIMESTAMP):
        return value.value
    millis = value.value if value.kind is Kind.DATE else value.value * 1000
    if abs(millis) > _MAX_MILLIS:
        problem = f"a date of the document is {millis} ms from 1970, which no column has"
        raise TransformRefused(problem)
    return Moment(millis * 1000)


def _misfit(value: Bson, schema: ConnectSchema) -> TransformRefused:
    kind = schema.name if schema.name == logical.TIMESTAMP else schema.kind.value
    return TransformRefused(f"a value of the type {value.kind.value} is in an array whose others are {kind}")
