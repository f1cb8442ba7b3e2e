"""The transforms of a connector, in their order, each with its condition."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from floe.config.keys.reader import Settings
from floe.config.keys.spelling import spelled_as
from floe.config.properties import Properties
from floe.config.sections.predicates import NEGATE, PREDICATE, PredicateSpec, predicate_of, read_predicates
from floe.config.transforms.allowed_modules import NO_MODULES, AllowedModules
from floe.config.transforms.options import SIDES, By, SourceColumnNames, TransformClass, TransformOptions
from floe.config.transforms.other_names import CLASSES, key_meant
from floe.config.transforms.python_class import PREFIX, PythonClass, read_python_class
from floe.config.transforms.registry import TRANSFORMS

NAMES = "transforms"
_TYPE: Final = "type"
_SUFFIX: Final = "Transform"
_SHOWN_CHARACTERS = 100


@dataclass(frozen=True)
class TransformSpec:
    """One transform of a chain: picklable.

    ``type``: the Java class, or ``python:`` with that of Python. ``negate``: apply it if the condition fails.
    """

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


def split_chain(
    specs: Sequence[TransformSpec], route_field: str = ""
) -> tuple[Sequence[TransformSpec], Sequence[TransformSpec]]:
    """Split a chain after the last transform that needs whole records; the second part only adds columns.

    ``route_field``: the top-level field by which records are routed. What adds it has to write it into records before that.
    """

    def is_whole(spec: TransformSpec) -> bool:
        return not spec.is_columnar or (bool(route_field) and route_field in spec.options.columns)

    end = next((i for i in range(len(specs), 0, -1) if is_whole(specs[i - 1])), 0)
    return specs[:end], specs[end:]


def routing_steps(specs: Sequence[TransformSpec], by: By, name: str) -> list[dict[str, Any]]:
    """Return as JSON the part of a chain that decides where records go: up to the last such transform, or nothing.

    ``by``, ``name``: what records are routed by, see ``TransformOptions.changes_routing``. A transform that adds the field as
    a column decides too.
    """

    def decides(place: int) -> bool:
        options = specs[place].options
        return options.changes_routing(by, name) or (by == "field" and name in options.columns)

    end = next((i for i in range(len(specs), 0, -1) if decides(i - 1)), 0)
    return [spec.to_json() for spec in specs[:end]]


def renames_topics(specs: Sequence[TransformSpec]) -> bool:
    """Say whether a chain may give records another topic."""
    return any(spec.options.renames_topic for spec in specs)


def reads_keys(specs: Sequence[TransformSpec]) -> bool:
    """Say whether a chain has to see the records' keys, as the key converter reads them."""
    return any(spec.options.reads_keys for spec in specs)


def source_columns(specs: Sequence[TransformSpec], route_field: str = "") -> tuple[SourceColumnNames, ...]:
    """Return where rows may have topic, partition and offset of their records.

    Only columns that are added to rows, after all other transforms, count, and only if the topic is still the record's own.
    """
    _, added = split_chain(specs, route_field)
    found = [spec.options.source_columns for spec in added]
    return () if renames_topics(specs) else tuple(columns for columns in found if columns is not None)


def python_classes(specs: Sequence[TransformSpec]) -> Iterator[PythonClass]:
    """Yield the settings of transforms that users write in Python."""
    return (spec.options for spec in specs if isinstance(spec.options, PythonClass))


def own_files(specs: Sequence[TransformSpec]) -> dict[str, str]:
    """Return the modules of transforms that users write in Python, by name, as they are now. Raises SourceProblem."""
    return {name: text for own in python_classes(specs) for name, text in own.source().files.items()}


def read_transforms(settings: Settings, allowed: AllowedModules = NO_MODULES) -> tuple[TransformSpec, ...]:
    """Read the transforms in the order of ``transforms``; problems are noted in ``settings``.

    ``allowed``: the modules that transforms in Python may be in.
    """
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
    predicates = read_predicates(settings)
    specs = [_read_transform(settings, name, owned[name], predicates, allowed) for name in unique]
    read = tuple(spec for spec in specs if spec is not None)
    _check_columns(settings, read)
    settings.warnings.extend(f"{NAMES}.{spec.alias}.{doubt}" for spec in read for doubt in spec.options.doubts)
    settings.notes.extend(
        f"transform {spec.alias!r} makes rows of updates and deletes with a column _cdc: they are appended, "
        "floe has no upserts yet"
        for spec in read
        if spec.options.writes_changes
    )
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
    settings: Settings, name: str, keys: Properties, predicates: dict[str, PredicateSpec], allowed: AllowedModules
) -> TransformSpec | None:
    prefix = f"{NAMES}.{name}."
    if _TYPE not in keys:
        settings.problems.append(
            f'Missing required configuration "{prefix}{_TYPE}" which has no default value: set {_known()}'
        )
        return None
    if keys[_TYPE].strip().startswith(PREFIX):
        own = read_python_class(settings.problems, name, prefix, keys, allowed)
        predicate, negate = predicate_of(settings, prefix, keys, predicates)
        return None if own is None else TransformSpec(name, PREFIX + own.path, own, predicate, negate)
    found = _class_of(keys[_TYPE].strip())
    if found is None:
        problem = _type_problem(keys[_TYPE].strip())
        settings.problems.append(f"{prefix}{_TYPE} {keys[_TYPE][:_SHOWN_CHARACTERS]!r} {problem}")
        return None
    settings.problems.extend(_key_problems(prefix, found, keys))
    options = found.read(settings.problems, prefix, keys)
    predicate, negate = predicate_of(settings, prefix, keys, predicates)
    return None if options is None else TransformSpec(name, found.name, options, predicate, negate)


def _class_of(name: str) -> TransformClass | None:
    return TRANSFORMS.get(name) or next((one for one in TRANSFORMS.values() if one.simple_name == name), None)


def _known() -> str:
    return ", ".join(dict.fromkeys(one.name for one in TRANSFORMS.values()))


def _type_problem(name: str) -> str:
    simple_name = name.rpartition(".")[2]
    sided = next((_class_of(f"{simple_name}${side}") for side, _ in SIDES), None)
    if name in CLASSES:
        hint = CLASSES[name]
    elif sided is not None:
        hint = f"write {sided.name}, or the same with another end"
    elif (found := _class_spelled_as(simple_name)) is not None:
        hint = f"did you mean {found.name}?"
    else:
        hint = f"remove it, or transform upstream, or write it in Python as {PREFIX}package.module.Class"
    return f"is no transform that floe has: {hint}"


def _class_spelled_as(simple_name: str) -> TransformClass | None:
    names = {one.simple_name.removesuffix(_SUFFIX): one for one in reversed(TRANSFORMS.values())}
    meant = spelled_as(simple_name.removesuffix(_SUFFIX), tuple(names))
    return None if meant is None else names[meant]


def _key_problems(prefix: str, found: TransformClass, keys: Properties) -> Iterator[str]:
    known = (_TYPE, *found.keys)
    for key in keys:
        if key not in (*known, PREDICATE, NEGATE):
            shown = repr((prefix + key)[: 2 * _SHOWN_CHARACTERS])
            meant = key_meant(found.simple_name, key) or spelled_as(key, (*known, PREDICATE, NEGATE))
            hint = f"; did you mean {prefix}{meant}?" if meant else ""
            yield f"unknown key {shown}: {found.simple_name} has {', '.join(known)} and no other{hint}"


def _check_columns(settings: Settings, specs: tuple[TransformSpec, ...]) -> None:
    columns = Counter(column for spec in specs for column in set(spec.options.columns))
    settings.problems.extend(
        f"two transforms write column {column!r}: set another field_name for one of them"
        for column, count in columns.items()
        if count > 1
    )
