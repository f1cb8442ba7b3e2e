"""The settings of the sink's own transforms: ``KafkaMetadataTransform``, ``CopyValue``, and those of changes and of JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.keys.reader import OptionReader
from floe.config.keys.values import InvalidValue, parse_boolean
from floe.config.names import has_control_characters
from floe.config.properties import Properties
from floe.config.transforms.options import By, SourceColumnNames, TopicKept, TransformClass, of_job

# The sink's ``KafkaMetadataTransform``: columns with a record's Kafka metadata.


TOPIC: Final = "topic"
PARTITION: Final = "partition"
OFFSET: Final = "offset"
TIMESTAMP: Final = "timestamp"
KEY: Final = "key"
HEADERS: Final = "headers"

_FIELD_NAME, _NESTED, _EXTERNAL = "field_name", "nested", "external_field"
_INCLUDE_KEY, _INCLUDE_HEADERS = "include_key", "include_headers"
_MAX_NAME_LENGTH = 255
_SHOWN_CHARACTERS = 100


@dataclass(frozen=True)
class KafkaMetadata(TopicKept):
    """Columns with a record's Kafka metadata; ``external`` is the name and the value of a constant one."""

    engine: ClassVar = of_job(
        "kafka_metadata.columns:MetadataRecords", columns="kafka_metadata.columns:MetadataColumns"
    )

    field_name: str = "_kafka_metadata"
    nested: bool = False
    external: tuple[str, str] | None = None
    key: bool = False
    headers: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        """The injected fields, in order: ``topic`` … and the name of the external field."""
        external = (self.external[0],) if self.external is not None else ()
        key, headers = (KEY,) if self.key else (), (HEADERS,) if self.headers else ()
        return (TOPIC, PARTITION, OFFSET, TIMESTAMP, *external, *key, *headers)

    @property
    def is_columnar(self) -> bool:
        return True

    @property
    def columns(self) -> tuple[str, ...]:
        """The top-level columns: one of all parts, or one each."""
        return (self.field_name,) if self.nested else tuple(self.column(part) for part in self.parts)

    def changes_routing(self, by: By, name: str) -> bool:
        return False

    @property
    def source_columns(self) -> SourceColumnNames:
        return SourceColumnNames(self.path(TOPIC), self.path(PARTITION), self.path(OFFSET))

    def column(self, part: str) -> str:
        """Name the top-level column of a part, for a transform that is not nested."""
        return f"{self.field_name}_{part}"

    def path(self, part: str) -> tuple[str, ...]:
        """Return the names that lead to a part."""
        return (self.field_name, part) if self.nested else (self.column(part),)


def read_kafka_metadata(problems: list[str], prefix: str, keys: Properties) -> KafkaMetadata | None:
    """Read the settings; problems are noted in ``problems``."""
    own_problems: list[str] = []
    options = KafkaMetadata(
        field_name=keys.get(_FIELD_NAME, KafkaMetadata.field_name).strip(),
        nested=_boolean(own_problems, prefix, keys, _NESTED),
        external=_external(own_problems, prefix, keys.get(_EXTERNAL)),
        key=_boolean(own_problems, prefix, keys, _INCLUDE_KEY),
        headers=_boolean(own_problems, prefix, keys, _INCLUDE_HEADERS),
    )
    own_problems += _name_problems(prefix, options)
    problems += own_problems
    return None if own_problems else options


KAFKA_METADATA: Final = TransformClass(
    "org.apache.iceberg.connect.transforms.KafkaMetadataTransform",
    (_FIELD_NAME, _NESTED, _EXTERNAL, _INCLUDE_KEY, _INCLUDE_HEADERS),
    read_kafka_metadata,
)


def _boolean(problems: list[str], prefix: str, keys: Mapping[str, str], key: str) -> bool:
    try:
        return parse_boolean(prefix + key, keys.get(key, "false"))
    except InvalidValue as error:
        problems.append(str(error))
        return False


def _external(problems: list[str], prefix: str, text: str | None) -> tuple[str, str] | None:
    """Split ``name,value`` as Java does: blanks count, empty parts at the end do not."""
    if text is None:
        return None
    parts = text.rstrip(",").split(",")
    if len(parts) != 2:
        short = repr(text[:_SHOWN_CHARACTERS])
        problems.append(f"Could not parse {short} for {prefix}{_EXTERNAL}: write a name, one comma and a value")
        return None
    return parts[0], parts[1]


def _name_problems(prefix: str, options: KafkaMetadata) -> Iterator[str]:
    for part, count in Counter(options.parts).items():
        if count > 1:
            yield f"{prefix}{_EXTERNAL} is named {part!r}, as a field of the transform itself: choose another name"
    for name in dict.fromkeys((*options.columns, *(options.parts if options.nested else ()))):
        if not name or len(name) > _MAX_NAME_LENGTH or has_control_characters(name):
            yield (
                f"{prefix}* asks for a column {name[:_SHOWN_CHARACTERS]!r}: a name has 1 to {_MAX_NAME_LENGTH} characters, "
                "none of them invisible"
            )


# The settings of the sink's transforms of change data: ``DebeziumTransform`` and ``DmsTransform``.


_PATTERN: Final = "cdc.target.pattern"


@dataclass(frozen=True)
class DebeziumChange(TopicKept):
    """``target_pattern``: of the name of the table that a change is for, with ``{db}`` and ``{table}``; "" for both."""

    engine: ClassVar = of_job("iceberg.changes:DebeziumChanges", reads="columns")

    target_pattern: str = ""

    @property
    def reads_keys(self) -> bool:
        return True

    @property
    def writes_changes(self) -> bool:
        return True


@dataclass(frozen=True)
class DmsChange(TopicKept):
    """It has no settings."""

    engine: ClassVar = of_job("iceberg.changes:DmsChanges")

    @property
    def writes_changes(self) -> bool:
        return True


def _read_debezium(problems: list[str], prefix: str, keys: Properties) -> DebeziumChange:
    return DebeziumChange(OptionReader(keys, prefix).text(_PATTERN))


def _read_dms(problems: list[str], prefix: str, keys: Properties) -> DmsChange:
    return DmsChange()


CHANGE_DATA: Final = (
    TransformClass("org.apache.iceberg.connect.transforms.DebeziumTransform", (_PATTERN,), _read_debezium),
    TransformClass("org.apache.iceberg.connect.transforms.DmsTransform", (), _read_dms),
)


# The settings of the sink's ``CopyValue``: the value of a field is in another one too.


_SOURCE, _TARGET = "source.field", "target.field"


@dataclass(frozen=True)
class CopyValue(TopicKept):
    """``source``: the field whose value is copied. ``target``: the field that gets it."""

    engine: ClassVar = of_job("iceberg.copy_value:CopyValueChange", changes="values", reads="columns")

    source: str
    target: str

    def changes_routing(self, by: By, name: str) -> bool:
        return by == "field" and name == self.target


def read_copy_value(problems: list[str], prefix: str, keys: Properties) -> CopyValue | None:
    """Read the settings; problems are noted in ``problems``."""
    options = OptionReader(keys, prefix)
    for key, what in ((_SOURCE, "that is copied"), (_TARGET, "that gets the copy")):
        if options.key(key) is None:
            options.miss(f"{prefix}{key} is missing: set the field {what}")
    problems += options.problems
    return None if options.problems else CopyValue(options.text(_SOURCE), options.text(_TARGET))


COPY_VALUE: Final = TransformClass(
    "org.apache.iceberg.connect.transforms.CopyValue", (_SOURCE, _TARGET), read_copy_value
)


# The settings of the sink's ``JsonToMapTransform``: texts of JSON become structs of flat fields, or one map.


_ROOT: Final = "json.root"


@dataclass(frozen=True)
class JsonToMap(TopicKept):
    """``is_whole``: the whole object becomes one map; else each of its fields has a column."""

    engine: ClassVar = of_job("iceberg.json_to_map:JsonMaps")

    is_whole: bool = False

    @property
    def makes_fields(self) -> bool:
        return True

    def changes_routing(self, by: By, name: str) -> bool:
        return by == "field"


def read_json_to_map(problems: list[str], prefix: str, keys: Properties) -> JsonToMap | None:
    """Read the settings; problems are noted in ``problems``."""
    options = OptionReader(keys, prefix)
    found = JsonToMap(options.boolean(_ROOT, False))
    problems += options.problems
    return None if options.problems else found


JSON_TO_MAP: Final = TransformClass(
    "org.apache.iceberg.connect.transforms.JsonToMapTransform", (_ROOT,), read_json_to_map
)


# The settings of the sink's ``MongoDebeziumTransform``: the documents in change events become structs.


_ARRAYS: Final = "array_handling_mode"


@dataclass(frozen=True)
class MongoChange(TopicKept):
    """``as_documents``: arrays become structs with a field for each element."""

    engine: ClassVar = of_job("iceberg.mongo:MongoChanges")

    as_documents: bool = False

    @property
    def reads_keys(self) -> bool:
        return True


def read_mongo_change(problems: list[str], prefix: str, keys: Properties) -> MongoChange | None:
    """Read the settings; problems are noted in ``problems``."""
    options = OptionReader(keys, prefix)
    mode = options.text(_ARRAYS).lower() or "array"
    if mode not in ("array", "document"):
        options.refuse_value(_ARRAYS, "is none of array, document: write one of these")
    problems += options.problems
    return None if options.problems else MongoChange(mode == "document")


MONGO_CHANGE: Final = TransformClass(
    "org.apache.iceberg.connect.transforms.MongoDebeziumTransform", (_ARRAYS,), read_mongo_change
)
