"""The transforms of a connector: of the sink's, ``KafkaMetadataTransform`` so far."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from floe.config.keys.reader import Settings
from floe.config.keys.values import InvalidValue, parse_boolean
from floe.config.names import has_control_characters
from floe.config.properties import Properties

TOPIC: Final = "topic"
PARTITION: Final = "partition"
OFFSET: Final = "offset"
TIMESTAMP: Final = "timestamp"
KEY: Final = "key"
HEADERS: Final = "headers"

NAMES = "transforms"
_PACKAGES = ("org.apache.iceberg.connect.transforms.", "io.tabular.iceberg.connect.transforms.", "")
_METADATA = "KafkaMetadataTransform"
_LATER = ("CopyValue", "DmsTransform", "DebeziumTransform", "JsonToMapTransform", "MongoDebeziumTransform")
_TYPE, _FIELD_NAME, _NESTED, _EXTERNAL = "type", "field_name", "nested", "external_field"
_INCLUDE_KEY, _INCLUDE_HEADERS = "include_key", "include_headers"
_METADATA_KEYS = (_TYPE, _FIELD_NAME, _NESTED, _EXTERNAL, _INCLUDE_KEY, _INCLUDE_HEADERS)
_CONDITIONS = ("predicate", "negate")
_LONGEST_NAME = 255
_SHOWN_CHARACTERS = 100


@dataclass(frozen=True)
class KafkaMetadata:
    """Columns with what Kafka knows of a record; ``external`` is the name and the value of a constant one."""

    field_name: str = "_kafka_metadata"
    nested: bool = False
    external: tuple[str, str] | None = None
    key: bool = False
    headers: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        """What is injected, in order: ``topic`` … and the name of the external field."""
        external = (self.external[0],) if self.external is not None else ()
        key, headers = (KEY,) if self.key else (), (HEADERS,) if self.headers else ()
        return (TOPIC, PARTITION, OFFSET, TIMESTAMP, *external, *key, *headers)

    @property
    def columns(self) -> tuple[str, ...]:
        """The top-level columns: one of all parts, or one each."""
        return (self.field_name,) if self.nested else tuple(self.column(part) for part in self.parts)

    def column(self, part: str) -> str:
        """Name the top-level column of a part, for a transform that is not nested."""
        return f"{self.field_name}_{part}"


def read_transforms(settings: Settings) -> tuple[KafkaMetadata, ...]:
    """Read the transforms in the order of ``transforms``; what is wrong with them is noted in ``settings``."""
    names = settings.names(NAMES)
    settings.problems.extend(
        f"transforms names {name[:_SHOWN_CHARACTERS]!r} twice: Duplicate alias provided."
        for name, count in Counter(names).items()
        if name and count > 1
    )
    if "" in names:
        settings.problems.append("transforms has an empty name: write names with commas between")
    settings.problems.extend(
        f"transforms names {name[:40]!r}…, which has {len(name)} characters: write at most {_SHOWN_CHARACTERS}"
        for name in dict.fromkeys(names)
        if len(name) > _SHOWN_CHARACTERS
    )
    unique = tuple(name for name in dict.fromkeys(names) if 0 < len(name) <= _SHOWN_CHARACTERS)
    owned = _owned(settings, unique)
    transforms = [_read_transform(settings, f"{NAMES}.{name}.", owned[name]) for name in unique]
    read = tuple(transform for transform in transforms if transform is not None)
    _check_columns(settings, read)
    return read


def _owned(settings: Settings, names: tuple[str, ...]) -> dict[str, Properties]:
    """Divide the keys below ``transforms.`` among the names; of names with dots the longest has the key."""
    owned: dict[str, dict[str, str]] = {name: {} for name in names}
    owners = _Owners(names)
    for key, value in settings.properties.under(f"{NAMES}.").items():
        owner = owners.of(key)
        if owner is None:
            settings.problems.append(
                f"unknown key {f'{NAMES}.{key}'[:_SHOWN_CHARACTERS]!r}: {NAMES} does not name this transform, it names "
                f"{', '.join(names)[:_SHOWN_CHARACTERS] or 'none'}; name it there, or remove the key"
            )
        else:
            owned[owner][key.removeprefix(f"{owner}.")] = value
    return {name: Properties(keys) for name, keys in owned.items()}


def is_unowned(key: str, names: Collection[str]) -> bool:
    """Whether ``key`` is a setting of a transform that is not among the names."""
    return key.startswith(f"{NAMES}.") and _Owners(names).of(key.removeprefix(f"{NAMES}.")) is None


class _Owners:
    """The names of transforms, asked for thousands of keys."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(names)
        self._lengths = sorted({len(name) for name in self._names if name}, reverse=True)
        self._begins = tuple(f"{name}." for name in self._names)

    def of(self, key: str) -> str | None:
        """Return the longest of the names that ``key`` begins with, a dot behind it."""
        if not key.startswith(self._begins):
            return None
        ends = (end for end in self._lengths if key[end : end + 1] == "." and key[:end] in self._names)
        return next((key[:end] for end in ends), None)


def _read_transform(settings: Settings, prefix: str, keys: Properties) -> KafkaMetadata | None:
    if _TYPE not in keys:
        settings.problems.append(
            f'Missing required configuration "{prefix}{_TYPE}" which has no default value: set {_PACKAGES[0]}{_METADATA}'
        )
        return None
    if problem := _type_problem(keys[_TYPE].strip()):
        settings.problems.append(f"{prefix}{_TYPE} {keys[_TYPE][:_SHOWN_CHARACTERS]!r} {problem}")
        return None
    for key in keys:
        if key in _CONDITIONS:
            settings.problems.append(
                f"{prefix}{key} is not supported yet: predicates come with the other transforms. Remove it"
            )
        elif key not in _METADATA_KEYS:
            shown = repr((prefix + key)[: 2 * _SHOWN_CHARACTERS])
            settings.problems.append(f"unknown key {shown}: {_METADATA} has {', '.join(_METADATA_KEYS)} and no other")
    problems: list[str] = []
    transform = KafkaMetadata(
        field_name=keys.get(_FIELD_NAME, KafkaMetadata.field_name).strip(),
        nested=_boolean(problems, prefix, keys, _NESTED),
        external=_external(problems, prefix, keys.get(_EXTERNAL)),
        key=_boolean(problems, prefix, keys, _INCLUDE_KEY),
        headers=_boolean(problems, prefix, keys, _INCLUDE_HEADERS),
    )
    problems += _name_problems(prefix, transform)
    settings.problems += problems
    return None if problems else transform


def _type_problem(name: str) -> str | None:
    for package in _PACKAGES:
        bare = name.removeprefix(package)
        if bare == _METADATA:
            return None
        if bare in _LATER:
            return "is not supported yet. Remove it, or transform upstream"
    return f"is no transform that floe knows: it has {_PACKAGES[0]}{_METADATA}. Remove it, or transform upstream"


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


def _name_problems(prefix: str, transform: KafkaMetadata) -> Iterator[str]:
    for part, count in Counter(transform.parts).items():
        if count > 1:
            yield f"{prefix}{_EXTERNAL} is named {part!r}, as a field of the transform itself: choose another name"
    for name in dict.fromkeys((*transform.columns, *(transform.parts if transform.nested else ()))):
        if not name or len(name) > _LONGEST_NAME or has_control_characters(name):
            yield (
                f"{prefix}* asks for a column {name[:_SHOWN_CHARACTERS]!r}: a name has 1 to {_LONGEST_NAME} characters, "
                "none of them invisible"
            )


def _check_columns(settings: Settings, transforms: tuple[KafkaMetadata, ...]) -> None:
    columns = Counter(column for transform in transforms for column in set(transform.columns))
    settings.problems.extend(
        f"two transforms write column {column!r}: set another {_FIELD_NAME} for one of them"
        for column, count in columns.items()
        if count > 1
    )
