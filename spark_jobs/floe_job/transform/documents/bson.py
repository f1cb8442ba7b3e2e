"""The values of BSON, the format of MongoDB's documents."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple


class Kind(Enum):
    """The types of BSON. Beside each is what its values are in Python."""

    NULL = "null"
    STRING = "string"  # str
    BOOLEAN = "boolean"  # bool
    INT32 = "int32"  # int
    INT64 = "int64"  # int
    DOUBLE = "double"  # float
    DECIMAL = "decimal128"  # str, as Java writes it
    OBJECT_ID = "objectId"  # str: 24 hexadecimal digits
    BINARY = "binary"  # bytes
    DATE = "dateTime"  # int: milliseconds since 1970
    TIMESTAMP = "timestamp"  # int: seconds since 1970
    PATTERN = "regex"  # (pattern, options)
    CODE = "javascript"  # str
    SCOPED_CODE = "javascriptWithScope"  # (code, document)
    DOCUMENT = "document"  # dict of names and Bson
    ARRAY = "array"  # list of Bson
    OTHER = "other"  # what no column has: a symbol, undefined, a pointer, the least and the greatest key


class Bson(NamedTuple):
    """A value with its type."""

    kind: Kind
    value: Any


Document = dict[str, Bson]
"""The fields of a document, in their order."""


def is_empty(value: Bson) -> bool:
    """Return whether a value is a document or an array that holds nothing."""
    return value.kind in (Kind.DOCUMENT, Kind.ARRAY) and not value.value
