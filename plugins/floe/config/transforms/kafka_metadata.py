"""The sink's ``KafkaMetadataTransform``: columns with a record's Kafka metadata."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.keys.values import InvalidValue, parse_boolean
from floe.config.names import has_control_characters
from floe.config.properties import Properties
from floe.config.transforms.options import By, SourceColumnNames, TopicKept, TransformClass, of_job

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
        "kafka_metadata.records:MetadataRecords", columns="kafka_metadata.columns:MetadataColumns"
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
