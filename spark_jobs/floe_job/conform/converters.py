"""Values without a schema into the column types of an Iceberg table; the target type decides.

The rules are those of the Kafka Connect sink, with one difference in spirit: a conversion that would lose something
(overflow, 2.7 into a long, "yes" into a boolean) is refused instead of done. A converter takes a JSON value that is not
null and returns what ``pyarrow.array`` takes for the Arrow storage type of the column, or raises ``Unconvertible``:

int, long → int · float, double → float · decimal → Decimal · boolean → bool · string → str · uuid, binary, fixed →
bytes · date → epoch days · time, timestamp, timestamptz → microseconds · list → list · map → pairs · struct → dict.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from floe_job.conform.java_text import json_text, number_text
from floe_job.conform.moments import (
    FIRST_DAY,
    LAST_DAY,
    MILLIS_PER_DAY,
    days_of_text,
    micros_of_millis,
    micros_of_text,
    micros_of_time_text,
)
from floe_job.conform.numbers import HugeInteger, Literal, decimal_of_text, set_scale
from floe_job.exceptions import VALUE_LENGTH, Unconvertible, UnsupportedColumn, clip

Converter = Callable[[Any], Any]

ELEMENT = "element"

INT_RANGE = (-(2**31), 2**31 - 1)
LONG_RANGE = (-(2**63), 2**63 - 1)
ROUNDS_TO_INFINITE_FLOAT = 3.4028235677973366e38

_INTEGER_TEXT = re.compile(r"[+-]?\d{1,40}", re.ASCII)
_NUMBER_TEXT = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?|NaN|Infinity)", re.ASCII)
_UUID_TEXT = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_BASE64_TEXT = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_JAVA_BLANKS = "".join(map(chr, range(33)))


def converter(target: IcebergType) -> Converter:
    """Compile the converter for a column type. Raises UnsupportedColumn for types floe cannot write."""
    if isinstance(target, StructType):
        return _struct(target)
    if isinstance(target, ListType):
        return _list(target)
    if isinstance(target, MapType):
        return _map(target)
    if isinstance(target, DecimalType):
        return _decimal(target)
    if isinstance(target, FixedType):
        return _fixed(len(target))
    for kind, convert in _PRIMITIVES:
        if isinstance(target, kind):
            return convert
    problem = f"a column of type {target} cannot be written by floe; drop it or change its type"
    raise UnsupportedColumn(problem)


def _refuse(value: Any, target: object, why: str = "") -> Unconvertible:
    kind = _KINDS.get(type(value), "number")
    shown = clip(value, VALUE_LENGTH) if isinstance(value, str) else value
    text = "" if isinstance(value, dict | list) else f" {clip(repr(shown), VALUE_LENGTH)}"
    return Unconvertible(f"cannot convert {kind}{text} to {target}{why and ', ' + why}")


_KINDS: dict[type, str] = {str: "string", bool: "boolean", dict: "object", list: "array", type(None): "null"}


def _whole(value: Any, target: str, limits: tuple[int, int]) -> int:
    """Take a number without a fraction within ``limits``."""
    number: int
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _refuse(value, target)
    if isinstance(value, float):
        if not value.is_integer():
            raise _refuse(value, target, "too large" if math.isinf(value) else "its fraction would be lost")
        number = int(value)
    else:
        number = value
    if not limits[0] <= number <= limits[1]:
        raise _refuse(value, target, "out of range")
    return number


def _integer(target: str, limits: tuple[int, int]) -> Converter:
    def convert(value: Any) -> int:
        if isinstance(value, str):
            if not _INTEGER_TEXT.fullmatch(value):
                raise _refuse(value, target)
            value = int(value)
        return _whole(value, target, limits)

    return convert


def _floating(target: str, infinite: float) -> Converter:
    """Take numbers and numeric strings; ``infinite`` is the first size that rounds to infinity."""

    def convert(value: Any) -> float:
        number: float
        if isinstance(value, str):
            stripped = value.strip(_JAVA_BLANKS)
            if not _NUMBER_TEXT.fullmatch(stripped):
                raise _refuse(value, target)
            number = float(stripped.rstrip("fFdD")) if stripped[-1] in "fFdD" else float(stripped)
            if "N" in stripped or "I" in stripped:
                return number
        elif isinstance(value, bool) or not isinstance(value, int | float):
            raise _refuse(value, target)
        else:
            number = _as_float(value)
        if abs(number) >= infinite:
            raise _refuse(value, target, "too large")
        return number

    return convert


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _decimal(target: DecimalType) -> Converter:
    def convert(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise _refuse(value, target)
        text = value.token if isinstance(value, Literal) else str(value)
        number = decimal_of_text(text)
        if number is None:
            raise _refuse(value, target)
        scaled = set_scale(number, target.precision, target.scale)
        if scaled is None:
            problem = f"cannot write value as {str(target).replace(' ', '')}, too large"
            raise Unconvertible(problem)
        return scaled

    return convert


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise _refuse(value, "boolean")


def _string(value: Any) -> str:
    if isinstance(value, str):
        text = value
    elif isinstance(value, dict | list):
        text = json_text(value)
    elif isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, HugeInteger) or value in (math.inf, -math.inf):
        raise _refuse(value, "string", "too large")
    else:
        text = number_text(value)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            problem = "cannot convert string, half of a surrogate pair in it"
            raise Unconvertible(problem) from None
    return text


def _uuid(value: Any) -> bytes:
    if isinstance(value, str) and _UUID_TEXT.fullmatch(value):
        return UUID(value).bytes
    raise _refuse(value, "uuid")


def _binary(value: Any) -> bytes:
    if isinstance(value, str) and _BASE64_TEXT.fullmatch(value):
        # Java's decoder takes base64 without its padding, Python's does not.
        padded = value if value.endswith("=") else value + "=" * (-len(value) % 4)
        try:
            return base64.b64decode(padded, validate=True)
        except binascii.Error:
            pass
    raise _refuse(value, "binary", "it is not standard base64" if isinstance(value, str) else "")


def _fixed(length: int) -> Converter:
    def convert(value: Any) -> bytes:
        data = _binary(value)
        if len(data) != length:
            raise _refuse(value, f"fixed[{length}]", f"it has {len(data)} bytes")
        return data

    return convert


def _date(value: Any) -> int:
    if not isinstance(value, str):
        return _whole(value, "date", (FIRST_DAY, LAST_DAY))
    days = days_of_text(value)
    if days is None:
        raise _refuse(value, "date")
    return days


def _time(value: Any) -> int:
    if not isinstance(value, str):
        return _whole(value, "time", (0, MILLIS_PER_DAY - 1)) * 1000
    micros = micros_of_time_text(value)
    if micros is None:
        raise _refuse(value, "time")
    return micros


def _moment(target: str, *, apply_zone: bool) -> Converter:
    def convert(value: Any) -> int:
        if isinstance(value, str):
            micros = micros_of_text(value, apply_zone=apply_zone)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            raise _refuse(value, target)
        else:
            micros = micros_of_millis(value)
        if micros is None:
            raise _refuse(value, target)
        return micros

    return convert


_PRIMITIVES: tuple[tuple[type[IcebergType], Converter], ...] = (
    (IntegerType, _integer("int", INT_RANGE)),
    (LongType, _integer("long", LONG_RANGE)),
    (FloatType, _floating("float", ROUNDS_TO_INFINITE_FLOAT)),
    (DoubleType, _floating("double", math.inf)),
    (BooleanType, _boolean),
    (StringType, _string),
    (UUIDType, _uuid),
    (BinaryType, _binary),
    (DateType, _date),
    (TimeType, _time),
    (TimestampType, _moment("timestamp", apply_zone=False)),
    (TimestamptzType, _moment("timestamptz", apply_zone=True)),
)


def _optional(convert: Converter, *, required: bool) -> Converter:
    def convert_entry(value: Any) -> Any:
        if value is not None:
            return convert(value)
        if required:
            problem = "null in a required column"
            raise Unconvertible(problem)
        return None

    return convert_entry


def _list(target: ListType) -> Converter:
    element = _optional(converter(target.element_type), required=target.element_required)

    def convert(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise _refuse(value, "list")
        try:
            return [element(entry) for entry in value]
        except Unconvertible as error:
            raise error.inside(ELEMENT) from None

    return convert


def _map(target: MapType) -> Converter:
    key = converter(target.key_type)
    entry = _optional(converter(target.value_type), required=target.value_required)

    def convert(value: Any) -> list[tuple[Any, Any]]:
        if not isinstance(value, dict):
            raise _refuse(value, "map")
        converted: dict[Any, Any] = {}
        for name, item in value.items():
            try:
                converted[key(name)] = entry(item)
            except Unconvertible as error:
                raise error.inside(name) from None
        return list(converted.items())

    return convert


def _struct(target: StructType) -> Converter:
    fields = [field_converter(field) for field in target.fields]

    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _refuse(value, "struct")
        return {name: convert_field(value) for name, convert_field in fields}

    return convert


def field_converter(field: NestedField) -> tuple[str, Converter]:
    """Compile name and converter of one column; the converter takes the object that the column is looked up in."""
    name = field.name
    convert = _optional(converter(field.field_type), required=field.required)

    def convert_field(record: dict[str, Any]) -> Any:
        try:
            return convert(record.get(name))
        except Unconvertible as error:
            raise error.inside(name) from None

    return name, convert_field
