"""Outgoing schemas: the text that the Java sink writes in front of every body.

:func:`schema_text` makes from the declarations in :mod:`floe.control.wire.structs` the text that Iceberg 1.12.0 makes, byte
for byte (``AvroSchemaUtil`` for the shape, Avro's ``Schema.toString`` for the JSON).
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from floe.control.exceptions import EventEncodeError
from floe.control.wire.events import EventType, PartitionType
from floe.control.wire.modified_utf8 import utf16_units
from floe.control.wire.primitives import LOGICAL, decimal_bytes, decimal_of, fixed_of
from floe.control.wire.structs import Field, ListOf, MapOf, Struct, WireType, event_struct


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

    def _field(self, field: Field) -> dict[str, object]:
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
            case ListOf():
                return {"type": "array", "items": self._type(wire.element), "element-id": wire.element_id}
            case MapOf():
                return {"type": "array", "items": self._entry(wire), "logicalType": "map"}
        return self._primitive(wire)

    def _entry(self, wire: MapOf) -> object:
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
