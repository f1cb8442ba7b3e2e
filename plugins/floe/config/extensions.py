"""Registries, and what distributions of others add to them.

A distribution declares something by an entry point, such as ``com.example.LineConverter = example.lines:LINES`` in the group
``floe.converters``. Those of the distributions count that the operator lists in ``FLOE_EXTENSIONS``. A declaration is
imported when its name is first used, its code when that is first needed.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from floe.config.exceptions import ExtensionUnusable
from floe.config.keys.values import parse_list

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

VARIABLE: Final = "FLOE_EXTENSIONS"

_GROUPS: Final = "floe."
_SHOWN_CHARACTERS: Final = 200

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """What there is of one kind, by name: what floe has itself, and what listed distributions declare in ``group``.

    ``own``: what floe has. ``kind``: the class, or the protocol, of all of them. To look a name up raises ExtensionUnusable
    for a declaration that cannot be used; names alone are listed without an import.
    """

    def __init__(self, group: str, kind: type[Any], own: Mapping[str, T]) -> None:
        self.group = group
        self.own = dict(own)
        self._kind = kind

    def __getitem__(self, name: str) -> T:
        declared = _declared(_listed(), self.group).get(name, ())
        if declared and (name in self.own or len(declared) > 1):
            others = " and ".join(sorted({_distribution(one) for one in declared}))
            who = f"{others} declares it, and floe has it" if name in self.own else f"{others} declare it"
            message = (
                f"{name!r} of {self.group} is there more than once: {who}. Take a distribution off {VARIABLE} of Airflow's "
                "environment"
            )
            raise ExtensionUnusable(message)
        if declared:
            return self._loaded(declared[0])
        return self.own[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        yield from self.added

    def __len__(self) -> int:
        return len(self.own) + len(self.added)

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self.added

    @property
    def added(self) -> Collection[str]:
        """The names that only distributions of others declare."""
        return [name for name in _declared(_listed(), self.group) if name not in self.own]

    def full_names(self, name: str) -> list[str]:
        """Return the names that a class's name means: itself, else those that are it behind their package."""
        return [name] if name in self else [full for full in self if full.rpartition(".")[2] == name]

    def _loaded(self, declared: EntryPoint) -> T:
        made: Any = _load(declared)
        if not isinstance(made, self._kind):
            message = (
                f"{_shown(declared)} is a {type(made).__name__} and no {self._kind.__name__}: correct the distribution, or "
                f"take it off {VARIABLE} of Airflow's environment"
            )
            raise ExtensionUnusable(message)
        names = _names_of(made)
        if names and declared.name not in names:
            message = (
                f"{_shown(declared)} is named {', '.join(names)[:_SHOWN_CHARACTERS]}: it has to be declared by that name. "
                "Correct the distribution"
            )
            raise ExtensionUnusable(message)
        found: T = made
        return found


def missing() -> tuple[str, ...]:
    """Return the listed distributions that this Python does not have."""
    return tuple(name for name in _listed() if _entry_points(name) is None)


def missing_hint() -> str:
    """Return what to add to a message that something is unknown: nothing where all listed distributions are there."""
    names = ", ".join(missing())[:_SHOWN_CHARACTERS]
    return f"; {VARIABLE} lists {names}, not installed in this Python" if names else ""


def _listed() -> tuple[str, ...]:
    return tuple(filter(None, parse_list(os.environ.get(VARIABLE, ""))))


@cache
def _declared(listed: tuple[str, ...], group: str) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return what the listed distributions declare in a group, by name."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for distribution in dict.fromkeys(listed):
        for one in _entry_points(distribution) or ():
            if one.group == group:
                found[one.name] = (*found.get(one.name, ()), one)
    return found


@cache
def _entry_points(distribution: str) -> tuple[EntryPoint, ...] | None:
    """Return a distribution's entry points of floe's groups; None where it is not installed."""
    from importlib import metadata  # not above: most processes have no extensions

    try:
        found = metadata.distribution(distribution)
    except (metadata.PackageNotFoundError, ValueError):
        return None
    return tuple(one for one in found.entry_points if one.group.startswith(_GROUPS))


@cache
def _load(declared: EntryPoint) -> object:
    try:
        return declared.load()
    except Exception as error:
        what = f"{type(error).__name__}: {error}"[:_SHOWN_CHARACTERS]
        message = (
            f"{_shown(declared)} cannot be loaded: {what}. Correct the installation of that distribution in Airflow's "
            f"environment, or take it off {VARIABLE}"
        )
        raise ExtensionUnusable(message) from error


def _names_of(made: object) -> tuple[str, ...]:
    """Return the names that a declaration has itself; none for one that has no name."""
    name = getattr(made, "name", "")
    return (name, *getattr(made, "implementations", ())) if name else ()


def _shown(declared: EntryPoint) -> str:
    return f"{declared.name!r} of {declared.group}, {declared.value} of {_distribution(declared)},"


def _distribution(declared: EntryPoint) -> str:
    return declared.dist.name if declared.dist is not None else "a distribution"
