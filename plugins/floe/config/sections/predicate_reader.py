"""The keys ``predicates`` and ``predicates.*``: the conditions of a connector's transforms."""

from collections.abc import Collection, Mapping
from typing import Final

from floe.config.extensions import unknown_hint
from floe.config.keys.reader import Settings
from floe.config.keys.spelling import spelled_as
from floe.config.keys.values import InvalidValue, parse_boolean
from floe.config.properties import Properties
from floe.config.sections.transforms import PredicateSpec
from floe.config.transforms.predicates import PREDICATES

NAMES: Final = "predicates"
PREDICATE: Final = "predicate"
NEGATE: Final = "negate"
_TYPE: Final = "type"
_SHOWN_CHARACTERS: Final = 100


def read_predicates(settings: Settings) -> dict[str, PredicateSpec]:
    """Read the conditions that transforms may name, by name; problems are noted in ``settings``."""
    names = [name for name in dict.fromkeys(settings.names(NAMES)) if name]
    settings.problems.extend(
        f"unknown key {f'{NAMES}.{key}'[: 2 * _SHOWN_CHARACTERS]!r}: {NAMES} does not name this predicate; name it there, "
        "or remove the key"
        for key in settings.properties.under(f"{NAMES}.")
        if not key.startswith(tuple(f"{name}." for name in names))
    )
    read = ((name, _read(settings, name)) for name in names)
    return {name: spec for name, spec in read if spec is not None}


def _read(settings: Settings, alias: str) -> PredicateSpec | None:
    prefix = f"{NAMES}.{alias}."
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
        settings.problems.append(f"{prefix}{PREDICATE} {alias[:_SHOWN_CHARACTERS]!r} is none of {NAMES}: name it there")
    if not alias and NEGATE in keys:
        settings.problems.append(f"{prefix}{NEGATE} has no {prefix}{PREDICATE} beside it: name one, or remove it")
    try:
        negate = parse_boolean(prefix + NEGATE, keys.get(NEGATE, "false"))
    except InvalidValue as error:
        settings.problems.append(str(error))
        return None, False
    return predicates.get(alias), negate and bool(alias)


def _named(settings: Settings) -> Collection[str]:
    return settings.names(NAMES)
