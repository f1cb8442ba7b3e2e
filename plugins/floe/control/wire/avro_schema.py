"""Schemas of events: read from the front of a body, of any version and producer, and written as Java writes them."""

from __future__ import annotations

import json
import re
import struct
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from typing import Any, Final

from fastavro import parse_schema

from floe.control.exceptions import EventDecodeError, EventEncodeError
from floe.control.wire.events import EventType, PartitionFieldType, PartitionType
from floe.control.wire.structs import PARTITION, Struct, WireField, WireList, WireMap, WireType, event_struct
from floe.control.wire.values import LOGICAL, decimal_bytes, decimal_of, fixed_of

# Incoming schemas: the text in front of a body, of any version and from any producer.
#
# :func:`read_layout` converts it to a :class:`Layout`: fields under their ids instead of their names. It refuses
# schemas with which reading would not end or would not be bounded in memory.


MAX_HEIGHT = 32
"""How deep a schema may nest; the deepest event has 10."""

NODES_PER_BYTE = 2
"""Maximum number of values per byte of the body; no type of the events needs more."""


_LEAST_BYTES = {"null": 0, "boolean": 1, "int": 1, "long": 1, "float": 4, "double": 8, "bytes": 1, "string": 1}


@dataclass(frozen=True, slots=True)
class Layout:
    """A type, as declared by a message.

    ``avro`` is the same type for fastavro, under names that cannot clash: ``f<field id>`` for a field, ``n<i>`` for a
    named type. ``surplus`` is the most values that one of it makes beyond NODES_PER_BYTE for each of its bytes.
    """

    kind: str
    avro: Any
    surplus: int
    height: int
    declared: Mapping[str, Any]
    name: str = ""
    fields: tuple[tuple[int | None, str, Layout], ...] = ()
    inner: tuple[Layout, ...] = ()

    def field(self, field_id: int) -> Layout | None:
        """Return the type of the field with this id, without the null of an optional; None if there is no such field."""
        for found, _, layout in self.fields:
            if found == field_id:
                return layout.value()
        return None

    def value(self) -> Layout:
        """Return the type without the null of an optional."""
        some = [branch for branch in self.inner if branch.kind != "null"]
        return some[0] if self.kind == "union" and len(some) == 1 else self


@lru_cache(maxsize=64)
def read_layout(text: str) -> Layout:
    """Read the schema of a message; raises EventDecodeError if it is not a schema or not safe.

    Recursion, nesting beyond MAX_HEIGHT and elements that take no bytes (Avro's equivalent of a zip bomb) are refused.
    """
    try:
        layout = _LayoutReader().read(json.loads(text), "")
        if layout.kind != "record" or layout.surplus > MAX_TEXT_BYTES:
            message = f"it is a {layout.kind} that makes too much of too few bytes"
            raise ValueError(message)
        return replace(layout, avro=parse_schema(layout.avro))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        message = (
            f"the schema in front of the event cannot be used: {error!r}, schema {text[:200]!r}…; "
            "it was not written by an Iceberg sink: find out who writes to the control topic"
        )
        raise EventDecodeError(message) from error


def read_partition_type(payload: Layout) -> PartitionType:
    """Return the partition type that a DataWritten's layout declares: that of its data files, or of its deletes.

    Raises ValueError if the two differ or contain types that a partition cannot have.
    """
    found = set()
    for field_id in (10302, 10304):
        files = payload.field(field_id)
        partition = files.inner[0].field(PARTITION) if files is not None and files.kind == "array" else None
        if partition is not None:
            found.add(PartitionType(tuple(_partition_field(*field) for field in partition.fields)))
    if len(found) > 1:
        message = f"data files and delete files have different partition types {found!r}"
        raise ValueError(message)
    return found.pop() if found else PartitionType()


def _partition_field(field_id: int | None, name: str, layout: Layout) -> PartitionFieldType:
    if field_id is None:
        message = f"partition field {name!r} has no field id"
        raise ValueError(message)
    return PartitionFieldType(field_id, name, _iceberg_type(layout.value()))


def _iceberg_type(layout: Layout) -> str:
    declared = layout.declared
    logical = declared.get("logicalType")
    if layout.kind == "fixed" and logical == "decimal":
        name = f"decimal({declared['precision']},{declared.get('scale', 0)})"
        if decimal_of(name) is not None:
            return name
    elif layout.kind == "fixed" and logical != "uuid":
        return f"fixed[{declared['size']}]"
    utc = declared.get("adjust-to-utc") in (True, "true")
    for name, known in LOGICAL.items():
        wanted = (known["type"], known.get("logicalType"), known.get("adjust-to-utc", utc))
        if wanted == (layout.kind, logical, utc):
            return name
    message = f"no Iceberg type is an Avro {layout.kind} with {dict(declared)!r}"
    raise ValueError(message)


class _LayoutReader:
    """Read a parsed JSON schema into a Layout; raises ValueError, KeyError or TypeError if it is not valid."""

    def __init__(self) -> None:
        self._named: dict[str, Layout | None] = {}
        self._number = count()

    def read(self, declared: Any, namespace: str) -> Layout:
        if isinstance(declared, str):
            return self._reference(declared, namespace)
        if isinstance(declared, list):
            return self._union(declared, namespace)
        kind = declared["type"]
        if kind in ("record", "error", "fixed", "enum"):
            return self._definition(kind, declared, namespace)
        if kind == "array":
            return self._array(declared, self.read(declared["items"], namespace))
        if kind == "map":
            return self._map(declared, self.read(declared["values"], namespace))
        return Layout(kind, kind, 1 - NODES_PER_BYTE * _LEAST_BYTES[kind], 0, declared)

    def _reference(self, name: str, namespace: str) -> Layout:
        if name in _LEAST_BYTES:
            return Layout(name, name, 1 - NODES_PER_BYTE * _LEAST_BYTES[name], 0, {})
        # Java refers to a type without a namespace by its bare name, from within any namespace.
        full = f"{namespace}.{name}" if f"{namespace}.{name}" in self._named else name
        layout = self._named.get(full)
        if layout is None:
            message = f"type {name!r} is {'recursive' if full in self._named else 'unknown'}"
            raise ValueError(message)
        return layout if layout.kind == "enum" else replace(layout, avro=layout.avro["name"])

    def _union(self, declared: list[Any], namespace: str) -> Layout:
        branches = tuple(self.read(branch, namespace) for branch in declared)
        surplus = max(branch.surplus for branch in branches) - NODES_PER_BYTE
        return self._checked(Layout("union", [b.avro for b in branches], surplus, 0, {}, inner=branches))

    def _array(self, declared: Mapping[str, Any], items: Layout) -> Layout:
        if items.surplus > 0:
            message = f"elements of type {items.name or items.kind!r} make too much of too few bytes"
            raise ValueError(message)
        avro = {"type": "array", "items": items.avro}
        return self._checked(Layout("array", avro, 1 - NODES_PER_BYTE, 0, declared, inner=(items,)))

    def _map(self, declared: Mapping[str, Any], values: Layout) -> Layout:
        array = self._array(declared, replace(values, surplus=values.surplus + 1 - NODES_PER_BYTE))
        return replace(array, kind="map", avro={"type": "map", "values": values.avro})

    def _definition(self, kind: str, declared: Mapping[str, Any], namespace: str) -> Layout:
        name = str(declared["name"])
        if "." not in name and declared.get("namespace", namespace):
            name = f"{declared.get('namespace', namespace)}.{name}"
        if name in self._named:
            message = f"type {name!r} is defined twice"
            raise ValueError(message)
        self._named[name] = None
        if kind == "fixed":
            layout = self._fixed(declared)
        elif kind == "enum":
            # The body contains the symbol's number. No event has an enum, so the number is sufficient.
            layout = Layout("enum", "int", 1 - NODES_PER_BYTE, 0, declared)
        else:
            layout = self._record(declared, name.rpartition(".")[0])
        self._named[name] = layout = replace(self._checked(layout), name=name)
        return layout

    def _fixed(self, declared: Mapping[str, Any]) -> Layout:
        size = declared["size"]
        if type(size) is not int or not 0 <= size < 2**31:
            message = f"a fixed type has the size {size!r}"
            raise ValueError(message)
        avro = {"type": "fixed", "name": f"n{next(self._number)}", "size": size}
        return Layout("fixed", avro, 1 - NODES_PER_BYTE * size, 0, declared)

    def _record(self, declared: Mapping[str, Any], namespace: str) -> Layout:
        avro = {"type": "record", "name": f"n{next(self._number)}"}
        fields = []
        for field in declared["fields"]:
            name = str(field.get("iceberg-field-name", field["name"]))
            fields.append((_field_id(field), name, self.read(field["type"], namespace)))
        known = [field_id for field_id, _, _ in fields if field_id is not None]
        if len(set(known)) < len(known):
            message = f"record {declared['name']!r} has a field id twice"
            raise ValueError(message)
        names = [f"x{place}" if field_id is None else f"f{field_id}" for place, (field_id, _, _) in enumerate(fields)]
        avro_fields = [{"name": name, "type": layout.avro} for name, (_, _, layout) in zip(names, fields, strict=True)]
        surplus = 1 + sum(layout.surplus for _, _, layout in fields)
        return Layout("record", avro | {"fields": avro_fields}, surplus, 0, declared, fields=tuple(fields))

    @staticmethod
    def _checked(layout: Layout) -> Layout:
        below = [*layout.inner, *(inner for _, _, inner in layout.fields)]
        height = 1 + max((inner.height for inner in below), default=0)
        if height > MAX_HEIGHT:
            message = f"it nests deeper than {MAX_HEIGHT}"
            raise ValueError(message)
        return replace(layout, height=height)


def _field_id(field: Mapping[str, Any]) -> int | None:
    """Return the id of a field; None without one, and for the -1 that Tabular's sink wrote."""
    declared = field.get("field-id", -1)
    if type(declared) not in (int, str):
        message = f"field {field['name']!r} has the id {declared!r}"
        raise ValueError(message)
    return int(declared) if int(declared) >= 0 else None


# Outgoing schemas: the text that the Java sink writes in front of every body.
#
# :func:`schema_text` makes from the declarations in :mod:`floe.control.wire.structs` the text that Iceberg 1.12.0
# makes, byte for byte (``AvroSchemaUtil`` for the shape, Avro's ``Schema.toString`` for the JSON).


@lru_cache(maxsize=64)
def schema_text(event: EventType, partition_type: PartitionType) -> str:
    """Return the schema of an event as Java's ``Schema.toString`` writes it.

    Raises EventEncodeError for a partition type that Java's Avro does not support.
    """
    text = json.dumps(_JavaWriter().record(event_struct(event, partition_type)), **_COMPACT)
    # Jackson writes the hex digits of control characters in upper case, Python in lower case.
    return re.sub(r"\\(?:u00([01][0-9a-f])|.)", lambda m: f"\\u00{m[1].upper()}" if m[1] else m[0], text)


_COMPACT: Mapping[str, Any] = {"ensure_ascii": False, "separators": (",", ":")}


class _JavaWriter:
    """Walk a struct as ``TypeToSchema`` and ``Schema.toJson`` do: a name is defined once and referred to after that."""

    def __init__(self) -> None:
        self._defined: set[str] = set()
        self._namespace: str | None = None

    def record(self, struct: Struct) -> object:
        namespace, _, name = struct.java_class.rpartition(".")
        return self._named(name, namespace, lambda: {"fields": self._fields(struct)})

    def _fields(self, struct: Struct) -> list[dict[str, object]]:
        fields = [self._field(field) for field in struct.fields]
        names = [field["name"] for field in fields]
        if len(set(names)) < len(names):
            message = f"two partition fields have one Avro name in {names!r}: rename one of them in the partition spec"
            raise EventEncodeError(message)
        return fields

    def _field(self, field: WireField) -> dict[str, object]:
        name = _avro_name(field.name)
        inner = self._type(field.type)
        result: dict[str, object] = {"name": name, "type": inner}
        if field.optional and inner != "null":
            result["type"] = ["null", inner]
        if field.doc is not None:
            result["doc"] = field.doc
        if field.optional:
            result["default"] = None
        if name != field.name:
            result["iceberg-field-name"] = field.name
        return result | {"field-id": field.field_id}

    def _type(self, wire: WireType) -> object:
        match wire:
            case Struct():
                return self.record(wire)
            case WireList():
                return {"type": "array", "items": self._type(wire.element), "element-id": wire.element_id}
            case WireMap():
                return {"type": "array", "items": self._entry(wire), "logicalType": "map"}
        return self._primitive(wire)

    def _entry(self, wire: WireMap) -> object:
        key: dict[str, object] = {"name": "key", "type": "int", "field-id": wire.key_id}
        value: dict[str, object] = {"name": "value", "type": self._type(wire.value), "field-id": wire.value_id}
        return self._named(f"k{wire.key_id}_v{wire.value_id}", None, lambda: {"fields": [key, value]})

    def _primitive(self, name: str) -> object:
        decimal, length = decimal_of(name), fixed_of(name)
        if decimal is not None:
            precision, scale = decimal
            logical = {"logicalType": "decimal", "precision": precision, "scale": scale}
            return self._fixed(f"decimal_{precision}_{scale}", decimal_bytes(precision), logical)
        if length is not None:
            return self._fixed(f"fixed_{length}", length, {})
        if name not in LOGICAL:
            message = f"{name!r} is no Iceberg primitive type that an event can hold; known: {', '.join(LOGICAL)}"
            raise EventEncodeError(message)
        if name == "uuid":
            return self._fixed("uuid_fixed", 16, {"logicalType": "uuid"})
        logical = dict(LOGICAL[name])
        return logical if len(logical) > 1 else logical["type"]

    def _fixed(self, name: str, size: int, logical: Mapping[str, object]) -> object:
        return self._named(name, None, lambda: {"size": size, **logical}, kind="fixed")

    def _named(
        self, name: str, namespace: str | None, rest: Callable[[], Mapping[str, object]], kind: str = "record"
    ) -> object:
        full = f"{namespace}.{name}" if namespace else name
        outer = self._namespace
        if full in self._defined:
            return name if namespace == outer else full
        self._defined.add(full)
        head: dict[str, object] = {"type": kind, "name": name}
        if namespace != outer:
            head["namespace"] = namespace or ""
        self._namespace = namespace
        head.update(rest())
        self._namespace = outer
        return head


def _avro_name(name: str) -> str:
    """Return a name as ``AvroSchemaUtil.makeCompatibleName`` does, which reads UTF-16 units, not characters."""
    if not name:
        message = "a partition field has an empty name: give it one in the partition spec"
        raise EventEncodeError(message)
    units = utf16_units(name)
    return _avro_character(units[0], first=True) + "".join(_avro_character(unit, first=False) for unit in units[1:])


def _avro_character(unit: str, first: bool) -> str:
    # Characters that are newer than one side's Unicode may be letters to the other only; readers use field ids, not names.
    category = unicodedata.category(unit)
    if unit == "_" or category.startswith("L") or (category == "Nd" and not first):
        return unit
    return f"_{unit}" if category == "Nd" else f"_x{ord(unit):X}"


# Java's modified UTF-8 (``DataOutputStream.writeUTF``).


MAX_TEXT_BYTES = 0xFFFF
"""The maximum length that the two bytes in front of a text can represent."""

_FOUR_BYTES: Final = re.compile(rb"[\xf0-\xff]")


def to_modified_utf8(text: str) -> bytes:
    """Return a text as ``DataOutputStream.writeUTF`` writes it: NUL in two bytes, surrogates one by one."""
    units = text if text.isascii() else utf16_units(text)
    return units.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")


def from_modified_utf8(data: bytes) -> str:
    """Return the text that ``DataInputStream.readUTF`` reads; raises UnicodeError."""
    if data.isascii():
        return data.decode("ascii")
    if _FOUR_BYTES.search(data):
        message = "a character in four bytes, which Java writes as two surrogates"
        raise UnicodeError(message)
    units = data.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
    return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")


def utf16_units(text: str) -> str:
    """Return a text with each character beyond U+FFFF as the two surrogates that Java sees."""
    packed = text.encode("utf-16-be", "surrogatepass")
    return "".join(map(chr, struct.unpack(f">{len(packed) // 2}H", packed)))
