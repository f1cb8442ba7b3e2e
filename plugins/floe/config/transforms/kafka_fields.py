"""The settings of Kafka's transforms of fields, each for the key or the value."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.keys.key import KeyType
from floe.config.keys.reader import OptionReader
from floe.config.keys.values import InvalidValue, parse_integer
from floe.config.transforms.kafka_sides import (
    FILLS,
    SYNTAX,
    Sided,
    list_of,
    name_of,
    path_of,
    sided_classes,
    text_of,
    whole_class,
)
from floe.config.transforms.options import By, Side, TopicKept, names_of, of_job

# The settings of Kafka's ``Cast``: fields, or whole values, of another type.


CAST_TYPES: Final = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")
_SPEC: Final = "spec"
_SHOWN_CHARACTERS: Final = 100


@dataclass(frozen=True)
class Cast(Sided):
    """``types``: of fields, by their names. ``whole``: of the value itself; "" for none."""

    engine: ClassVar = of_job("kafka.cast:CastChange", changes="side", reads="columns")

    types: tuple[tuple[str, str], ...] = ()
    whole: str = ""

    def writes(self, name: str) -> bool:
        return bool(self.whole) or any(name == field for field, _ in self.types)


def _read_cast(options: OptionReader, side: Side) -> Cast | None:
    entries = list_of(options, _SPEC, "field:type, or one type for whole values")
    types: dict[str, str] = {}
    whole = ""
    for entry in entries:
        name, colon, kind = entry.rpartition(":")
        kind = kind.strip().lower()
        if kind not in CAST_TYPES or ":" in name:
            options.refuse_value(
                _SPEC,
                f"{entry[:_SHOWN_CHARACTERS]!r} is none: write field:type, with the type one of {', '.join(CAST_TYPES)}",
            )
        elif colon:
            types[name.strip()] = kind
        else:
            whole = kind
    if whole and len(entries) > 1:
        options.refuse_value(_SPEC, "has a type for whole values and more: write it alone")
    return Cast(side, options.boolean(FILLS, False), tuple(types.items()), whole)


CAST: Final = sided_classes("Cast", (_SPEC, FILLS), _read_cast)


# The settings of Kafka's ``ExtractField``: one field takes the place of the value.


_FIELD: Final = "field"


@dataclass(frozen=True)
class ExtractField(Sided):
    """``path``: the names that lead to the field."""

    engine: ClassVar = of_job("kafka.structure:ExtractFieldChange", changes="side", reads="columns")

    path: tuple[str, ...] = ()

    def changes_routing(self, by: By, name: str) -> bool:
        """It does where it may leave nothing of a value."""
        return self.side == "value" or super().changes_routing(by, name)


def _read_extract_field(options: OptionReader, side: Side) -> ExtractField | None:
    name = name_of(options, _FIELD, "the field")
    path = path_of(options, _FIELD, name)
    return ExtractField(side, options.boolean(FILLS, False), path)


EXTRACT_FIELD: Final = sided_classes("ExtractField", (_FIELD, SYNTAX, FILLS), _read_extract_field)


# The settings of Kafka's ``Flatten``: fields of structs in structs go to the top, with longer names.


_DELIMITER: Final = "delimiter"
_MAX_DELIMITER: Final = 20


@dataclass(frozen=True)
class Flatten(Sided):
    """``delimiter``: what is between the names."""

    engine: ClassVar = of_job("kafka.flatten:FlattenChange", changes="side", reads="columns")

    delimiter: str = "."


def _read_flatten(options: OptionReader, side: Side) -> Flatten | None:
    delimiter = text_of(options, _DELIMITER)
    if delimiter is not None and len(delimiter) > _MAX_DELIMITER:
        options.refuse_value(_DELIMITER, f"has {len(delimiter)} characters: write at most {_MAX_DELIMITER}")
    return Flatten(side, delimiter="." if delimiter is None else delimiter)


FLATTEN: Final = sided_classes("Flatten", (_DELIMITER,), _read_flatten)


# The settings of Kafka's ``HoistField``: the value becomes the only field of a new one.


@dataclass(frozen=True)
class HoistField(Sided):
    """``field``: its name."""

    engine: ClassVar = of_job("kafka.structure:HoistFieldChange", changes="side", reads="columns")

    field: str = ""

    @property
    def makes_fields(self) -> bool:
        return self.side == "value"

    def changes_routing(self, by: By, name: str) -> bool:
        """It does where it makes a value of a tombstone."""
        return self.side == "value" or super().changes_routing(by, name)


def _read_hoist_field(options: OptionReader, side: Side) -> HoistField | None:
    return HoistField(side, field=name_of(options, _FIELD, "the field"))


HOIST_FIELD: Final = sided_classes("HoistField", (_FIELD,), _read_hoist_field)


# The settings of Kafka's ``InsertField``: fields with what Kafka knows of a record, or with a text.


TOPIC, PARTITION, OFFSET, TIMESTAMP, STATIC = "topic", "partition", "offset", "timestamp", "static"
PARTS: Final = (TOPIC, PARTITION, OFFSET, TIMESTAMP, STATIC)
"""What may be inserted, in the order in which fields are added."""

_STATIC_VALUE: Final = "static.value"


@dataclass(frozen=True)
class InsertField(Sided):
    """``fields``: what is inserted (see ``PARTS``), the field's name, and whether its schema is optional."""

    engine: ClassVar = of_job("kafka.fields:InsertFieldChange", changes="side", reads="columns")

    fields: tuple[tuple[str, str, bool], ...] = ()
    static_value: str | None = None

    def writes(self, name: str) -> bool:
        return any(name == field for _, field, _ in self.fields)


def _read_insert_field(options: OptionReader, side: Side) -> InsertField | None:
    found = [
        (part, *_field(options, f"{part}.field")) for part in PARTS if text_of(options, f"{part}.field") is not None
    ]
    static_value = text_of(options, _STATIC_VALUE)
    if not found:
        options.problems.append(
            f"No field insertion configured: set {', '.join(f'{options.prefix}{part}.field' for part in PARTS)}, "
            "or one of them"
        )
    if any(part == STATIC for part, _, _ in found) and static_value is None:
        options.problems.append(f"{options.prefix}{_STATIC_VALUE} is missing: set what static.field gets")
    return InsertField(side, options.boolean(FILLS, False), tuple(found), static_value)


def _field(options: OptionReader, key: str) -> tuple[str, bool]:
    """Return the name, without the mark at its end, and whether the field is optional."""
    text = text_of(options, key) or ""
    name = text[:-1] if text.endswith(("!", "?")) else text
    if not name.strip():
        options.refuse_value(key, "has no name: write one, with ! or ? behind it or nothing")
    return name, not text.endswith("!")


INSERT_FIELD: Final = sided_classes(
    "InsertField", (*(f"{part}.field" for part in PARTS), _STATIC_VALUE, FILLS), _read_insert_field
)


# The settings of Kafka's ``MaskField``: fields get an empty value of their type, or a given one.


_FIELDS, _REPLACEMENT = "fields", "replacement"


@dataclass(frozen=True)
class MaskField(Sided):
    """``replacement``: what numbers and texts get; None for 0, "" and the like."""

    engine: ClassVar = of_job("kafka.fields:MaskFieldChange", changes="side", reads="columns")

    fields: tuple[str, ...] = ()
    replacement: str | None = None

    def writes(self, name: str) -> bool:
        return name in self.fields


def _read_mask_field(options: OptionReader, side: Side) -> MaskField | None:
    fields = list_of(options, _FIELDS, "the names of the fields")
    replacement = text_of(options, _REPLACEMENT)
    if replacement == "":
        options.refuse_value(_REPLACEMENT, "is empty: write a number or a text, or remove the key for 0 and ''")
    return MaskField(side, options.boolean(FILLS, False), fields, replacement)


MASK_FIELD: Final = sided_classes("MaskField", (_FIELDS, _REPLACEMENT, FILLS), _read_mask_field)


# The settings of Kafka's ``ReplaceField``: fields of a value or a key are left out, or get another name.


_EXCLUDE, _INCLUDE, _RENAMES = "exclude", "include", "renames"


@dataclass(frozen=True)
class ReplaceField(Sided):
    """``include``: empty for all. ``renames``: old and new names."""

    engine: ClassVar = of_job("kafka.fields:ReplaceFieldChange", changes="side", reads="columns")

    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    renames: tuple[tuple[str, str], ...] = ()

    def writes(self, name: str) -> bool:
        is_left = name not in self.exclude and (not self.include or name in self.include)
        return not is_left or any(name in pair for pair in self.renames)


def _read_replace_field(options: OptionReader, side: Side) -> ReplaceField:
    pairs = [name.split(":") for name in names_of(options, _RENAMES)]
    wrong = [":".join(pair) for pair in pairs if len(pair) != 2 or not all(pair)]
    if wrong:
        options.refuse_value(
            _RENAMES, f"{wrong[0][:_SHOWN_CHARACTERS]!r} is no pair: write old:new, with commas between"
        )
        pairs = []
    for what, place in (("old", 0), ("new", 1)):
        twice = [name for name, count in Counter(pair[place] for pair in pairs).items() if count > 1]
        if twice:
            options.refuse_value(_RENAMES, f"has the {what} name {twice[0][:_SHOWN_CHARACTERS]!r} twice: write it once")
    return ReplaceField(
        side,
        options.boolean(FILLS, False),
        names_of(options, _EXCLUDE),
        names_of(options, _INCLUDE),
        tuple((old, new) for old, new in pairs),
    )


REPLACE_FIELD: Final = sided_classes("ReplaceField", (_EXCLUDE, _INCLUDE, _RENAMES, FILLS), _read_replace_field)


# The settings of Kafka's ``SetSchemaMetadata``: another name or version of the schema.


_NAME, _VERSION = "schema.name", "schema.version"


@dataclass(frozen=True)
class SetSchemaMetadata(Sided):
    """``name``, ``version``: None for the schema's own."""

    engine: ClassVar = of_job("kafka.structure:SchemaMetadataChange", changes="side", reads="columns")

    name: str | None = None
    version: int | None = None

    def changes_routing(self, by: By, name: str) -> bool:
        return False


def _read_set_schema_metadata(options: OptionReader, side: Side) -> SetSchemaMetadata | None:
    name, version = text_of(options, _NAME), None
    if text_of(options, _VERSION) is not None:
        try:
            version = parse_integer(options.prefix + _VERSION, KeyType.INT, options.options[_VERSION])
        except InvalidValue as error:
            options.problems.append(str(error))
    elif name is None:
        options.problems.append(
            f"Neither schema name nor version configured: set {options.prefix}{_NAME} or {options.prefix}{_VERSION}"
        )
    return SetSchemaMetadata(side, options.boolean(FILLS, False), name, version)


SET_SCHEMA_METADATA: Final = sided_classes("SetSchemaMetadata", (_NAME, _VERSION, FILLS), _read_set_schema_metadata)


# The settings of Kafka's ``ValueToKey``: a key of fields of the value.


_KEY_FIELDS: Final = "fields"


@dataclass(frozen=True)
class ValueToKey(TopicKept):
    """``fields``: of the value. ``fills_defaults``: nulls become the defaults of their fields."""

    engine: ClassVar = of_job("kafka.structure:KeyOfValue", reads="columns")

    fields: tuple[str, ...] = ()
    fills_defaults: bool = False

    def changes_routing(self, by: By, name: str) -> bool:
        return by == "key"


def _read_value_to_key(options: OptionReader) -> ValueToKey | None:
    fields = list_of(options, _KEY_FIELDS, "the fields of the value")
    return ValueToKey(fields, options.boolean(FILLS, False))


VALUE_TO_KEY: Final = (whole_class("ValueToKey", (_KEY_FIELDS, FILLS), _read_value_to_key),)
