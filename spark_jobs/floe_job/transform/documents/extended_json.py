"""Documents of MongoDB out of Extended JSON, as its Java driver reads them: the canonical form, the relaxed and the old one.

What the driver takes and JSON is not, such as ``ObjectId("…")`` and names without quotes, is refused.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from math import isinf
from typing import Any, Final, NamedTuple
from uuid import UUID

from floe_job.convert.json.parse import MAX_DEPTH, too_deep
from floe_job.exceptions import TransformRefused
from floe_job.transform.struct_fields import shown
from floe_job.types.numbers import decimal_of_text

# The values of BSON, the format of MongoDB's documents.


class DocumentKind(Enum):
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

    kind: DocumentKind
    value: Any


Document = dict[str, Bson]
"""The fields of a document, in their order."""


def is_empty(value: Bson) -> bool:
    """Return whether a value is a document or an array that holds nothing."""
    return value.kind in (DocumentKind.DOCUMENT, DocumentKind.ARRAY) and not value.value


_INT32, _INT64 = 2**31, 2**63
_INTEGER: Final = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_OBJECT_ID: Final = re.compile(r"[0-9a-fA-F]{24}")
_WORDS: Final = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf", "+Infinity": "inf"}
_MAX_DIGITS, _MIN_EXPONENT, _MAX_EXPONENT = 34, -6176, 6111
"""What a decimal of 128 bits holds."""

Pairs = list[tuple[str, Any]]


def parse_document(text: str) -> Document:
    """Read a document. Raises TransformRefused for a text that is none."""
    raw = text.encode("utf-8", "surrogatepass")
    if too_deep(raw):
        problem = f"a document has more than {MAX_DEPTH} documents and arrays inside one another"
        raise TransformRefused(problem)
    try:
        found = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        problem = f"{shown(text)} is no document of MongoDB in Extended JSON: {error}"
        raise TransformRefused(problem) from error
    if not isinstance(found, Bson) or found.kind is not DocumentKind.DOCUMENT:
        problem = f"{shown(text)} is no document of MongoDB"
        raise TransformRefused(problem)
    document: Document = found.value
    return document


def _object(pairs: Pairs) -> Bson:
    """Make a value of an object: the first name says whether it is one of Extended JSON."""
    if pairs and pairs[0][0] in _SPECIAL:
        found = _SPECIAL[pairs[0][0]](pairs)
        if found is not None:
            return found
    return Bson(DocumentKind.DOCUMENT, {name: _value(value) for name, value in pairs})


def _value(value: Any) -> Bson:
    if isinstance(value, Bson):
        return value
    if isinstance(value, list):
        return Bson(DocumentKind.ARRAY, [_value(one) for one in value])
    if isinstance(value, int) and not isinstance(value, bool):
        return _integer(value)
    return Bson(_PLAIN[type(value)], value)


_PLAIN: Final = {
    type(None): DocumentKind.NULL,
    bool: DocumentKind.BOOLEAN,
    str: DocumentKind.STRING,
    float: DocumentKind.DOUBLE,
}


def _integer(value: int) -> Bson:
    if not -_INT64 <= value < _INT64:
        problem = "an integer has more than 64 bits"
        raise ValueError(problem)
    return Bson(DocumentKind.INT32 if -_INT32 <= value < _INT32 else DocumentKind.INT64, value)


def _int(token: str) -> int:
    if len(token) > 20:
        problem = "an integer has more than 64 bits"
        raise ValueError(problem)
    return int(token)


def _float(token: str) -> float:
    number = float(token)
    if isinf(number):
        problem = f"{shown(token)} is too large for a double"
        raise ValueError(problem)
    return number


def _constant(token: str) -> Bson:
    """Read a word that is no JSON: Java's driver writes doubles so that are no numbers (``JsonMode.STRICT``)."""
    return Bson(DocumentKind.DOUBLE, float(_WORDS[token]))


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_int, parse_float=_float, parse_constant=_constant
)


# -- values of Extended JSON --------------------------------------------------------------------------------------------


def _only(pairs: Pairs) -> Any:
    if len(pairs) != 1:
        problem = f"{pairs[0][0]} has other fields beside it"
        raise ValueError(problem)
    return pairs[0][1]


def _text(pairs: Pairs) -> str:
    value = _only(pairs)
    if not isinstance(value, str):
        problem = f"{pairs[0][0]} has to be a text"
        raise ValueError(problem)
    return value


def _texts(value: Any, *names: str) -> list[str] | None:
    """Return the texts of an object with just these names, in their order; None for another."""
    fields = value.value if isinstance(value, Bson) and value.kind is DocumentKind.DOCUMENT else None
    if (
        fields is None
        or set(fields) != set(names)
        or any(one.kind is not DocumentKind.STRING for one in fields.values())
    ):
        return None
    return [fields[name].value for name in names]


def _whole_number(bits: int, kind: DocumentKind) -> Callable[[Pairs], Bson]:
    def make(pairs: Pairs) -> Bson:
        text = _text(pairs)
        if not _INTEGER.fullmatch(text) or not -(1 << bits) <= int(text) < 1 << bits:
            problem = f"{shown(text)} is no integer of {bits + 1} bits"
            raise ValueError(problem)
        return Bson(kind, int(text))

    return make


def _double(pairs: Pairs) -> Bson:
    text = _text(pairs)
    if text not in _WORDS and decimal_of_text(text) is None:
        problem = f"{shown(text)} is no number"
        raise ValueError(problem)
    return Bson(DocumentKind.DOUBLE, float(_WORDS[text]) if text in _WORDS else _float(text))


def _decimal(pairs: Pairs) -> Bson:
    text = _text(pairs)
    if text in _WORDS:
        return Bson(DocumentKind.DECIMAL, text.lstrip("+"))
    number = decimal_of_text(text)
    if number is None or not _is_held(number):
        problem = f"{shown(text)} is no decimal of {_MAX_DIGITS} digits"
        raise ValueError(problem)
    return Bson(DocumentKind.DECIMAL, str(number))


def _is_held(number: Decimal) -> bool:
    _, digits, exponent = number.as_tuple()
    return len(digits) <= _MAX_DIGITS and isinstance(exponent, int) and _MIN_EXPONENT <= exponent <= _MAX_EXPONENT


def _object_id(pairs: Pairs) -> Bson:
    text = _text(pairs)
    if not _OBJECT_ID.fullmatch(text):
        problem = f"{shown(text)} is no ObjectId of 24 hexadecimal digits"
        raise ValueError(problem)
    return Bson(DocumentKind.OBJECT_ID, text.lower())


def _date(pairs: Pairs) -> Bson:
    value = _only(pairs)
    if isinstance(value, str):
        return Bson(DocumentKind.DATE, millis_of(value))
    if isinstance(value, Bson) and value.kind is DocumentKind.INT64:
        return Bson(DocumentKind.DATE, value.value)
    if type(value) is int:
        return Bson(DocumentKind.DATE, _integer(value).value)
    problem = "$date has to be a text or an integer"
    raise ValueError(problem)


def _timestamp(pairs: Pairs) -> Bson:
    value = _only(pairs)
    fields = value.value if isinstance(value, Bson) and value.kind is DocumentKind.DOCUMENT else {}
    if set(fields) != {"t", "i"} or any(one.kind is not DocumentKind.INT32 for one in fields.values()):
        problem = "$timestamp has to have t and i, integers of 32 bits"
        raise ValueError(problem)
    return Bson(DocumentKind.TIMESTAMP, fields["t"].value)


def _binary(pairs: Pairs) -> Bson | None:
    fields = dict(pairs)
    if pairs[0][0] == "$binary" and isinstance(pairs[0][1], Bson):
        found = _texts(_only(pairs), "base64", "subType")
        if found is None:
            problem = "$binary has to have base64 and subType"
            raise ValueError(problem)
        return Bson(DocumentKind.BINARY, _bytes(found[0]))
    if len(pairs) != 2 or set(fields) != {"$binary", "$type"} or not isinstance(fields["$binary"], str):
        return None
    return Bson(DocumentKind.BINARY, _bytes(fields["$binary"])) if isinstance(fields["$type"], str | int) else None


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error as error:
        problem = f"{shown(text)} is no base64"
        raise ValueError(problem) from error


def _uuid(pairs: Pairs) -> Bson:
    return Bson(DocumentKind.BINARY, UUID(_text(pairs)).bytes)


def _old_pattern(pairs: Pairs) -> Bson | None:
    fields = dict(pairs)
    if len(pairs) != 2 or set(fields) != {"$regex", "$options"} or not all(isinstance(v, str) for v in fields.values()):
        return None
    return Bson(DocumentKind.PATTERN, (fields["$regex"], "".join(sorted(fields["$options"]))))


def _pattern(pairs: Pairs) -> Bson:
    found = _texts(_only(pairs), "pattern", "options")
    if found is None:
        problem = "$regularExpression has to have pattern and options"
        raise ValueError(problem)
    return Bson(DocumentKind.PATTERN, (found[0], "".join(sorted(found[1]))))


def _code(pairs: Pairs) -> Bson:
    code = pairs[0][1]
    scope = pairs[1][1] if len(pairs) == 2 and pairs[1][0] == "$scope" else None
    if not isinstance(code, str) or (
        len(pairs) > 1 and not (isinstance(scope, Bson) and scope.kind is DocumentKind.DOCUMENT)
    ):
        problem = "$code has to be a text, and $scope beside it a document"
        raise ValueError(problem)
    return Bson(DocumentKind.CODE, code) if scope is None else Bson(DocumentKind.SCOPED_CODE, (code, scope.value))


def _other(is_right: Callable[[Any], bool]) -> Callable[[Pairs], Bson]:
    def make(pairs: Pairs) -> Bson:
        if not is_right(_only(pairs)):
            problem = f"{pairs[0][0]} has a value that it cannot have"
            raise ValueError(problem)
        return Bson(DocumentKind.OTHER, None)

    return make


def _is_one(value: Any) -> bool:
    return type(value) is int and value == 1


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_SPECIAL: Final[dict[str, Callable[[Pairs], Bson | None]]] = {
    "$oid": _object_id,
    "$date": _date,
    "$numberInt": _whole_number(31, DocumentKind.INT32),
    "$numberLong": _whole_number(63, DocumentKind.INT64),
    "$numberDouble": _double,
    "$numberDecimal": _decimal,
    "$timestamp": _timestamp,
    "$binary": _binary,
    "$type": _binary,
    "$uuid": _uuid,
    "$regex": _old_pattern,
    "$options": _old_pattern,
    "$regularExpression": _pattern,
    "$code": _code,
    "$symbol": _other(_is_text),
    "$undefined": _other(lambda value: value is True),
    "$minKey": _other(_is_one),
    "$maxKey": _other(_is_one),
    "$dbPointer": _other(lambda value: isinstance(value, Bson) and set(value.value or ()) == {"$ref", "$id"}),
}


# Dates in Extended JSON: ISO 8601 with an offset, or a day alone.


_DATE: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[Tt](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{0,9}))?)?([Zz]|[+-]\d\d(?::\d\d(?::\d\d)?)?))?",
    re.ASCII,
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_OFFSET: Final = 18 * 3600


def millis_of(text: str) -> int:
    """Return the milliseconds since 1970, further digits cut off. Raises ValueError for a text that is no date."""
    found = _DATE.fullmatch(text)
    if found is None:
        problem = f"{shown(text)} is no date with an offset"
        raise ValueError(problem)
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    span = moment - _EPOCH
    seconds = span.days * 86_400 + span.seconds - _offset(found[8] or "Z")
    return seconds * 1000 + int((found[7] or "").ljust(9, "0")) // 1_000_000


def _offset(text: str) -> int:
    if text in "Zz":
        return 0
    hours, minutes, seconds = (int(part) for part in (*text[1:].split(":"), "0", "0")[:3])
    offset = hours * 3600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or offset > _MAX_OFFSET:
        problem = f"{shown(text)} is no offset"
        raise ValueError(problem)
    return -offset if text[0] == "-" else offset
