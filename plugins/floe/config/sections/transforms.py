"""The transforms of a connector, in their order, each with its condition."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from floe.config.keys.reader import Settings
from floe.config.keys.values import InvalidValue, parse_boolean, parse_list
from floe.config.properties import Properties
from floe.config.transforms.kafka_metadata import KAFKA_METADATA
from floe.config.transforms.options import SourceColumnNames, TransformClass, TransformOptions

TRANSFORMS: Final[dict[str, TransformClass]] = {
    "org.apache.iceberg.connect.transforms.KafkaMetadataTransform": KAFKA_METADATA,
    "io.tabular.iceberg.connect.transforms.KafkaMetadataTransform": KAFKA_METADATA,
}
"""The reader of the settings of each Java class. A new transform needs a line here, and one in ``floe_job``."""

PREDICATES: Final[dict[str, tuple[str, ...]]] = {}
"""The keys of each predicate's class. While there is none, the table of keys refuses ``predicates`` by name."""

NAMES = "transforms"
_PREDICATES = "predicates"
_PACKAGES = ("org.apache.iceberg.connect.transforms.", "io.tabular.iceberg.connect.transforms.", "")
_LATER = ("CopyValue", "DmsTransform", "DebeziumTransform", "JsonToMapTransform", "MongoDebeziumTransform")
_TYPE, _PREDICATE, _NEGATE = "type", "predicate", "negate"
_CONDITIONS = (_PREDICATE, _NEGATE)
_SHOWN_CHARACTERS = 100


@dataclass(frozen=True)
class PredicateSpec:
    """A condition on records. ``type``: the Java class; ``options``: its keys."""

    alias: str
    type: str
    options: Properties = Properties()  # noqa: RUF009 - immutable


@dataclass(frozen=True)
class TransformSpec:
    """One transform of a chain: picklable. ``type``: the Java class; ``negate``: apply it if the condition fails."""

    alias: str
    type: str
    options: TransformOptions
    predicate: PredicateSpec | None = None
    negate: bool = False

    @property
    def is_columnar(self) -> bool:
        """Whether it only adds columns, to every row."""
        return self.options.is_columnar and self.predicate is None

    def to_json(self) -> dict[str, Any]:
        """Return its settings as JSON, for the route hash, without its name."""
        step: dict[str, Any] = {"type": self.type, "options": self.options.to_json()}
        if self.predicate is not None:
            options = dict(self.predicate.options)
            step["predicate"] = {"type": self.predicate.type, "options": options, "negate": self.negate}
        return step


def split_chain(specs: Sequence[TransformSpec]) -> tuple[Sequence[TransformSpec], Sequence[TransformSpec]]:
    """Split a chain after the last transform that needs whole records; the second part only adds columns."""
    end = next((i for i in range(len(specs), 0, -1) if not specs[i - 1].is_columnar), 0)
    return specs[:end], specs[end:]


def routing_steps(specs: Sequence[TransformSpec]) -> list[dict[str, Any]]:
    """Return as JSON the part of a chain that decides where records go: up to the last such transform, or nothing."""
    end = next((i for i in range(len(specs), 0, -1) if specs[i - 1].options.changes_routing), 0)
    return [spec.to_json() for spec in specs[:end]]


def renames_topics(specs: Sequence[TransformSpec]) -> bool:
    """Say whether a chain may give records another topic."""
    return any(spec.options.renames_topic for spec in specs)


def source_columns(specs: Sequence[TransformSpec]) -> tuple[SourceColumnNames, ...]:
    """Return where rows may have topic, partition and offset of their records.

    Only columns that are added after all other transforms count, and only if the topic is still the record's own.
    """
    _, added = split_chain(specs)
    found = [spec.options.source_columns for spec in added]
    return () if renames_topics(specs) else tuple(columns for columns in found if columns is not None)


def read_transforms(settings: Settings) -> tuple[TransformSpec, ...]:
    """Read the transforms in the order of ``transforms``; problems are noted in ``settings``."""
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
    predicates = _read_predicates(settings) if PREDICATES else {}
    specs = [_read_transform(settings, name, owned[name], predicates) for name in unique]
    read = tuple(spec for spec in specs if spec is not None)
    _check_columns(settings, read)
    return read


def _owned(settings: Settings, names: tuple[str, ...]) -> dict[str, Properties]:
    """Divide the keys below ``transforms.`` among the names; the longest matching name has the key."""
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
    """The names of transforms, for lookups of thousands of keys."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(names)
        self._lengths = sorted({len(name) for name in self._names if name}, reverse=True)
        self._begins = tuple(f"{name}." for name in self._names)

    def of(self, key: str) -> str | None:
        """Return the longest of the names with which ``key`` begins, followed by a dot."""
        if not key.startswith(self._begins):
            return None
        ends = (end for end in self._lengths if key[end : end + 1] == "." and key[:end] in self._names)
        return next((key[:end] for end in ends), None)


def _read_transform(
    settings: Settings, name: str, keys: Properties, predicates: dict[str, PredicateSpec]
) -> TransformSpec | None:
    prefix = f"{NAMES}.{name}."
    if _TYPE not in keys:
        settings.problems.append(
            f'Missing required configuration "{prefix}{_TYPE}" which has no default value: set {_known()}'
        )
        return None
    found = _class_of(keys[_TYPE].strip())
    if found is None:
        problem = _type_problem(keys[_TYPE].strip())
        settings.problems.append(f"{prefix}{_TYPE} {keys[_TYPE][:_SHOWN_CHARACTERS]!r} {problem}")
        return None
    settings.problems.extend(_key_problems(prefix, found, keys))
    options = found.read(settings.problems, prefix, keys)
    predicate = _predicate_of(settings, prefix, keys, predicates) if PREDICATES else None
    negate = predicate is not None and _negate(settings, prefix, keys)
    return None if options is None else TransformSpec(name, found.name, options, predicate, negate)


def _class_of(name: str) -> TransformClass | None:
    return TRANSFORMS.get(name) or next((one for one in TRANSFORMS.values() if one.simple_name == name), None)


def _known() -> str:
    return ", ".join(dict.fromkeys(one.name for one in TRANSFORMS.values()))


def _type_problem(name: str) -> str:
    if any(name.removeprefix(package) in _LATER for package in _PACKAGES):
        return "is not supported yet. Remove it, or transform upstream"
    return f"is no transform that floe knows: it has {_known()}. Remove it, or transform upstream"


def _key_problems(prefix: str, found: TransformClass, keys: Properties) -> Iterator[str]:
    known = (_TYPE, *found.keys)
    for key in keys:
        if key in _CONDITIONS:
            if not PREDICATES:
                yield f"{prefix}{key} is not supported yet: predicates come with the other transforms. Remove it"
        elif key not in known:
            shown = repr((prefix + key)[: 2 * _SHOWN_CHARACTERS])
            yield f"unknown key {shown}: {found.simple_name} has {', '.join(known)} and no other"


def _check_columns(settings: Settings, specs: tuple[TransformSpec, ...]) -> None:
    columns = Counter(column for spec in specs for column in set(spec.options.columns))
    settings.problems.extend(
        f"two transforms write column {column!r}: set another field_name for one of them"
        for column, count in columns.items()
        if count > 1
    )


# -- conditions -------------------------------------------------------------------------------------------------------


def _read_predicates(settings: Settings) -> dict[str, PredicateSpec]:
    """Read the conditions that transforms may name."""
    read: dict[str, PredicateSpec] = {}
    for alias in dict.fromkeys(parse_list(settings.properties.get(_PREDICATES, ""))):
        prefix = f"{_PREDICATES}.{alias}."
        keys = settings.properties.under(prefix)
        name = keys.pop(_TYPE, "").strip()
        full = next((one for one in PREDICATES if name in (one, one.rpartition(".")[2])), None)
        if full is None:
            known = ", ".join(PREDICATES)
            settings.problems.append(
                f"{prefix}{_TYPE} {name[:_SHOWN_CHARACTERS]!r} is no predicate that floe knows: it has {known}"
            )
            continue
        settings.problems.extend(
            f"unknown key {(prefix + key)[: 2 * _SHOWN_CHARACTERS]!r}: this predicate has "
            f"{', '.join((_TYPE, *PREDICATES[full]))} and no other"
            for key in keys
            if key not in PREDICATES[full]
        )
        read[alias] = PredicateSpec(alias, full, Properties(keys))
    return read


def _predicate_of(
    settings: Settings, prefix: str, keys: Properties, predicates: dict[str, PredicateSpec]
) -> PredicateSpec | None:
    alias = keys.get(_PREDICATE, "").strip()
    if alias and alias not in predicates:
        settings.problems.append(
            f"{prefix}{_PREDICATE} {alias[:_SHOWN_CHARACTERS]!r} is none of {_PREDICATES}: name it there"
        )
    if not alias and _NEGATE in keys:
        settings.problems.append(f"{prefix}{_NEGATE} has no {prefix}{_PREDICATE} beside it: name one, or remove it")
    return predicates.get(alias)


def _negate(settings: Settings, prefix: str, keys: Properties) -> bool:
    try:
        return parse_boolean(prefix + _NEGATE, keys.get(_NEGATE, "false"))
    except InvalidValue as error:
        settings.problems.append(str(error))
        return False
