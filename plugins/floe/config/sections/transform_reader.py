"""The keys ``transforms`` and ``transforms.*``: a connector's transforms, in their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from floe.config.extensions import unknown_hint, unusable
from floe.config.keys.reader import Settings
from floe.config.keys.spelling import spelled_as
from floe.config.keys.values import InvalidValue, parse_boolean
from floe.config.properties import Properties
from floe.config.sections.transforms import PredicateSpec, TransformSpec
from floe.config.transforms.kafka_records import PREDICATES
from floe.config.transforms.options import SIDES, TransformClass, TransformEngine, TransformOptions
from floe.config.transforms.other_names import CLASSES, key_meant
from floe.config.transforms.python_class import NO_MODULES, PREFIX, AllowedModules, read_python_class
from floe.config.transforms.transform_classes import TRANSFORMS

TRANSFORM_NAMES = "transforms"
_TYPE: Final = "type"
_SUFFIX: Final = "Transform"
_SHOWN_CHARACTERS = 100


def read_transforms(settings: Settings, allowed: AllowedModules = NO_MODULES) -> tuple[TransformSpec, ...]:
    """Read the transforms in the order of ``transforms``; problems are noted in ``settings``.

    ``allowed``: the modules that transforms in Python may be in.
    """
    names = settings.names(TRANSFORM_NAMES)
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
    settings.warnings.extend(
        f"{TRANSFORM_NAMES}.{spec.alias}.{doubt}" for spec in read for doubt in spec.options.doubts
    )
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
    for key, value in settings.properties.under(f"{TRANSFORM_NAMES}.").items():
        owner = owners.of(key)
        if owner is None:
            settings.problems.append(
                f"unknown key {f'{TRANSFORM_NAMES}.{key}'[:_SHOWN_CHARACTERS]!r}: {TRANSFORM_NAMES} does not name this "
                f"transform, it names {', '.join(names)[:_SHOWN_CHARACTERS] or 'none'}; name it there, or remove the key"
            )
        else:
            owned[owner][key.removeprefix(f"{owner}.")] = value
    return {name: Properties(keys) for name, keys in owned.items()}


def is_unowned(key: str, names: Collection[str]) -> bool:
    """Whether ``key`` is a setting of a transform that is not among the names."""
    return key.startswith(f"{TRANSFORM_NAMES}.") and _Owners(names).of(key.removeprefix(f"{TRANSFORM_NAMES}.")) is None


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
    prefix = f"{TRANSFORM_NAMES}.{name}."
    if _TYPE not in keys:
        settings.problems.append(
            f'Missing required configuration "{prefix}{_TYPE}" which has no default value: set {_known()}'
        )
        return None
    if keys[_TYPE].strip().startswith(PREFIX):
        own = read_python_class(settings.problems, name, prefix, keys, allowed)
        predicate, negate = predicate_of(settings, prefix, keys, predicates)
        return None if own is None else TransformSpec(name, PREFIX + own.path, own, predicate, negate)
    classes = _classes(keys[_TYPE].strip())
    if len(classes) != 1:
        problem = _type_problem(keys[_TYPE].strip(), classes)
        settings.problems.append(f"{prefix}{_TYPE} {keys[_TYPE][:_SHOWN_CHARACTERS]!r} {problem}")
        return None
    found = TRANSFORMS[classes[0]]
    with TRANSFORMS.guard(classes[0]):
        settings.problems.extend(_key_problems(prefix, found, keys))
    options = _options(settings.problems, prefix, classes[0], keys)
    predicate, negate = predicate_of(settings, prefix, keys, predicates)
    package = TRANSFORMS.package(classes[0])
    return None if options is None else TransformSpec(name, found.name, options, predicate, negate, package)


def _options(problems: list[str], prefix: str, name: str, keys: Properties) -> TransformOptions | None:
    """Have the class of a full name read its settings. Raises ExtensionUnusable."""
    found, before = TRANSFORMS[name], len(problems)
    with TRANSFORMS.guard(name):
        options = found.read(problems, prefix, keys)
    declared = TRANSFORMS.declared(name)
    if declared is None or (options is None and len(problems) > before):
        return options
    with TRANSFORMS.guard(name):
        code = getattr(options, "engine", None)
        if not isinstance(options, TransformOptions) or not isinstance(code, TransformEngine) or not code.is_right:
            raise unusable(
                declared,
                f"read its keys and returned no TransformOptions with an engine, and no problem: {options!r:.100}",
            )
        options.check()
    return options


def _classes(name: str) -> list[str]:
    """Return the classes of a name: a simple one may be that of several. An older name of a class is not another one."""
    found = TRANSFORMS.full_names(name)
    own = {TRANSFORMS.own[full].name if full in TRANSFORMS.own else full: full for full in reversed(found)}
    return list(own.values())


def _known() -> str:
    return ", ".join((*dict.fromkeys(one.name for one in TRANSFORMS.own.values()), *TRANSFORMS.added))


def _type_problem(name: str, classes: Sequence[str]) -> str:
    if classes:
        return f"is the name of several classes: write {' or '.join(classes)}"
    simple_name = name.rpartition(".")[2]
    sided = next((full for side, _ in SIDES for full in _classes(f"{simple_name}${side}")), None)
    if name in CLASSES:
        hint = CLASSES[name]
    elif sided is not None:
        hint = f"write {sided}, or the same with another end"
    elif (found := _class_spelled_as(simple_name)) is not None:
        hint = f"did you mean {found}?"
    else:
        hint = (
            f"remove it, or transform upstream, or write it in Python as {PREFIX}package.module.Class{unknown_hint()}"
        )
    return f"is no transform that floe has: {hint}"


def _class_spelled_as(simple_name: str) -> str | None:
    names = {full.rpartition(".")[2].removesuffix(_SUFFIX): full for full in reversed(list(TRANSFORMS))}
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


# The keys ``predicates`` and ``predicates.*``: the conditions of a connector's transforms.


PREDICATE_NAMES: Final = "predicates"
PREDICATE: Final = "predicate"
NEGATE: Final = "negate"


def read_predicates(settings: Settings) -> dict[str, PredicateSpec]:
    """Read the conditions that transforms may name, by name; problems are noted in ``settings``."""
    names = [name for name in dict.fromkeys(settings.names(PREDICATE_NAMES)) if name]
    settings.problems.extend(
        f"unknown key {f'{PREDICATE_NAMES}.{key}'[: 2 * _SHOWN_CHARACTERS]!r}: {PREDICATE_NAMES} does not name this "
        "predicate; name it there, or remove the key"
        for key in settings.properties.under(f"{PREDICATE_NAMES}.")
        if not key.startswith(tuple(f"{name}." for name in names))
    )
    read = ((name, _read(settings, name)) for name in names)
    return {name: spec for name, spec in read if spec is not None}


def _read(settings: Settings, alias: str) -> PredicateSpec | None:
    prefix = f"{PREDICATE_NAMES}.{alias}."
    given = settings.properties.under(prefix)
    name = given.pop(_TYPE, "").strip()
    names = PREDICATES.full_names(name)
    if len(names) > 1:
        settings.problems.append(f"{prefix}{_TYPE} {name!r} is the name of several classes: write {' or '.join(names)}")
        return None
    if not names:
        what = f"{name[:_SHOWN_CHARACTERS]!r} is no predicate that floe knows" if name else "is missing"
        by_simple_name = {full.rpartition(".")[2]: full for full in PREDICATES}
        meant = spelled_as(name.rpartition(".")[2], tuple(by_simple_name)) if name else None
        hint = f"did you mean {by_simple_name[meant]}?" if meant else f"set one{unknown_hint()}"
        settings.problems.append(f"{prefix}{_TYPE} {what}: it has {', '.join(PREDICATES)}; {hint}")
        return None
    found = PREDICATES[names[0]]
    with PREDICATES.guard(names[0]):
        settings.problems.extend(
            f"unknown key {(prefix + key)[: 2 * _SHOWN_CHARACTERS]!r}: this predicate has "
            f"{', '.join((_TYPE, *found.keys))} and no other"
            for key in given
            if key not in found.keys
        )
        keys = Properties({key: value for key, value in given.items() if key in found.keys})
        found.check(settings.problems, prefix, keys)
    return PredicateSpec(alias, found.name, found.engine, keys, PREDICATES.package(names[0]))


def predicate_of(
    settings: Settings, prefix: str, keys: Mapping[str, str], predicates: Mapping[str, PredicateSpec]
) -> tuple[PredicateSpec | None, bool]:
    """Return the condition that a transform names, and whether it applies where that fails; ``prefix``: the transform's."""
    alias = keys.get(PREDICATE, "").strip()
    if alias and alias not in predicates and alias not in _named(settings):
        settings.problems.append(
            f"{prefix}{PREDICATE} {alias[:_SHOWN_CHARACTERS]!r} is none of {PREDICATE_NAMES}: name it there"
        )
    if not alias and NEGATE in keys:
        settings.problems.append(f"{prefix}{NEGATE} has no {prefix}{PREDICATE} beside it: name one, or remove it")
    try:
        negate = parse_boolean(prefix + NEGATE, keys.get(NEGATE, "false"))
    except InvalidValue as error:
        settings.problems.append(str(error))
        return None, False
    return predicates.get(alias), negate and bool(alias)


def _named(settings: Settings) -> Collection[str]:
    return settings.names(PREDICATE_NAMES)
