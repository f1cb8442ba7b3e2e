"""Registries, and what distributions of others add to them.

A distribution declares something by an entry point, such as ``com.example.LineConverter = example.lines:LINES`` in the group
``floe.converters``. Those of the distributions count that the operator lists in ``FLOE_EXTENSIONS``. A declaration is
imported when its name is first used, its code when that is first needed. What a declaration raises, and what is wrong with
it, is a problem of the connectors that name it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from floe.config.engine import Engine
from floe.config.exceptions import ConfigError, ExtensionUnusable
from floe.config.keys.values import parse_list

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

VARIABLE: Final = "FLOE_EXTENSIONS"

GROUPS: Final = ("floe.converters", "floe.transforms", "floe.predicates", "floe.catalogs", "floe.maintenance_jobs")

_PREFIX: Final = "floe."
_SHOWN_CHARACTERS: Final = 200
_SEPARATORS: Final = re.compile(r"[-_.]+")

T = TypeVar("T")


class Declared(NamedTuple):
    """An entry point of a listed distribution. ``distribution``: as the operator lists it."""

    distribution: str
    point: EntryPoint

    @property
    def package(self) -> str:
        """The package that the declaration is in, without those below it."""
        return self.point.value.partition(":")[0].partition(".")[0].strip()

    def __str__(self) -> str:
        name, value = self.point.name[:_SHOWN_CHARACTERS], self.point.value[:_SHOWN_CHARACTERS]
        return f"{name!r} of {self.point.group}, {value} of {self.distribution},"


class _Distribution(NamedTuple):
    points: tuple[EntryPoint, ...]
    problem: str = ""


def _simple_name(name: str) -> tuple[str, ...]:
    return (name.rpartition(".")[2],)


class Registry(Mapping[str, T], Generic[T]):
    """What there is of one kind, by name: what floe has itself, and what listed distributions declare in ``group``.

    ``own``: what floe has. ``kind``: the class, or the protocol, of all of them. ``spell``: how else a name may be written.
    To look a name up raises ExtensionUnusable for a declaration that cannot be used; to list names imports nothing.
    """

    def __init__(
        self,
        group: str,
        kind: type[Any],
        own: Mapping[str, T],
        spell: Callable[[str], Sequence[str]] = _simple_name,
    ) -> None:
        self.group = group
        self.own = dict(own)
        self._kind = kind
        self._spell = spell

    def __getitem__(self, name: str) -> T:
        if name in self.own:
            return self.own[name]
        declared = self._declared(name)
        if not declared:
            raise KeyError(name)
        if len(declared) > 1:
            others = " and ".join(one.distribution for one in declared)
            message = (
                f"{name!r} of {self.group} is there more than once: {others} declare it. Take a distribution off {VARIABLE} "
                "of Airflow's environment"
            )
            raise ExtensionUnusable(message)
        with self.guard(name):
            return self._loaded(declared[0])

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

    @property
    def shadowed(self) -> Iterator[Declared]:
        """What distributions declare by a name that floe has itself: floe's own counts."""
        names = {*self.own, *(other for name in self.own for other in self._spell(name))}
        for name in names:
            yield from self._declared(name)

    def full_names(self, name: str) -> list[str]:
        """Return the names that a text means, by any spelling. What floe has itself comes first: then no other is meant."""
        if name in self.own:
            return [name]
        return (self._spelled(name, self.own) or self._spelled(name, self.added)) if name else []

    def declared(self, name: str) -> Declared | None:
        """Return what declares a name; None for what floe has itself, and for none."""
        found = () if name in self.own else self._declared(name)
        return found[0] if found else None

    def package(self, name: str) -> str:
        """Return the package of an extension's declaration; "" for what floe has itself."""
        declared = self.declared(name)
        return "" if declared is None else declared.package

    @contextmanager
    def guard(self, name: str) -> Iterator[None]:
        """Turn what the declaration of a name raises into ExtensionUnusable; what floe's own raises is an error of floe."""
        try:
            yield
        except ExtensionUnusable:
            raise
        except BaseException as error:
            if not _is_of_code(error) or (declared := self.declared(name)) is None:
                raise
            raise unusable(declared, f"raised {_text_of(error)}") from error

    def _spelled(self, name: str, names: Collection[str]) -> list[str]:
        return [name] if name in names else [full for full in names if name in self._spell(full)]

    def _declared(self, name: str) -> tuple[Declared, ...]:
        return _declared(_listed(), self.group).get(name, ())

    def _loaded(self, declared: Declared) -> T:
        made: Any = _load(declared)
        if isinstance(made, type) or not isinstance(made, self._kind):
            raise unusable(declared, f"is a {type(made).__name__} and no {self._kind.__name__}")
        if not isinstance(getattr(made, "keys", ()), tuple):
            raise unusable(declared, "has keys that are no tuple")
        for part in ("engine", "provider"):
            if hasattr(made, part) and not (isinstance(getattr(made, part), Engine) and getattr(made, part).is_path):
                raise unusable(declared, f"has a {part} that is no Engine of package.module:name")
        names = _names_of(made)
        if names is not None and declared.point.name not in names:
            shown = ", ".join(names)[:_SHOWN_CHARACTERS] or repr(made.name)[:_SHOWN_CHARACTERS]
            raise unusable(declared, f"is named {shown}: it has to be declared by that name")
        found: T = made
        return found


def unusable(declared: Declared, problem: str) -> ExtensionUnusable:
    """Return the error of a declaration, with what to do."""
    return ExtensionUnusable(
        f"{declared} {problem}. Nothing was read or written. Correct that distribution where Airflow runs, or take it off "
        f"{VARIABLE}"
    )


@contextmanager
def reading_extensions() -> Iterator[None]:
    """Turn whatever is raised while a connector is read into ExtensionUnusable, if there are extensions.

    An extension that fails where no guard is breaks the connectors that name it, and no others.
    """
    try:
        yield
    except ConfigError:
        raise
    except BaseException as error:
        if not _is_of_code(error) or not _listed():
            raise
        listed = ", ".join(map(repr, _listed()))[:_SHOWN_CHARACTERS]
        message = (
            f"the connector cannot be read: {_text_of(error)}. Nothing was read or written. An extension that it names "
            f"returned something odd: one of {listed}. If it names none, report it as an error of floe"
        )
        raise ExtensionUnusable(message) from error


def absent() -> dict[str, str]:
    """Return the listed distributions that add nothing here, or not all, and why."""
    found = {name: _distribution(name) for name in _listed()}
    return {
        name: one.problem or "declares nothing for floe" for name, one in found.items() if one.problem or not one.points
    }


def unknown_hint() -> str:
    """Return the end of a message that a name is unknown: it may be one of an extension."""
    if found := absent():
        return f"; of {VARIABLE}, {', '.join(f'{name!r} {why}' for name, why in found.items())[:_SHOWN_CHARACTERS]}"
    return f"; what an extension adds counts where {VARIABLE} of Airflow's environment lists it"


def _listed() -> tuple[str, ...]:
    """Return the listed names, each distribution once: names that differ by case and separators are one."""
    given = os.environ.get(VARIABLE, "")
    return tuple({_SEPARATORS.sub("-", name).lower(): name for name in parse_list(given) if name}.values())


@cache
def _declared(listed: tuple[str, ...], group: str) -> Mapping[str, tuple[Declared, ...]]:
    """Return what the listed distributions declare in a group, by name."""
    found: dict[str, dict[tuple[str, str], Declared]] = {}
    for distribution in listed:
        for point in _distribution(distribution).points:
            if point.group == group:
                found.setdefault(point.name, {})[distribution, point.value] = Declared(distribution, point)
    return {name: tuple(of.values()) for name, of in found.items()}


@cache
def _distribution(name: str) -> _Distribution:
    """Read a distribution's entry points of floe's groups, or why there are none."""
    from importlib import metadata  # not above: most processes have no extensions

    try:
        found = metadata.distribution(name)
        points = tuple(one for one in found.entry_points if one.group.startswith(_PREFIX))
    except metadata.PackageNotFoundError:
        return _Distribution((), "is not installed in this Python")
    except Exception as error:  # noqa: BLE001 - whatever reading its files raises
        return _Distribution((), f"has metadata that cannot be read ({_text_of(error)})")
    unknown = sorted({one.group for one in points} - set(GROUPS))
    return _Distribution(points, f"declares for {', '.join(unknown)}, which floe does not ask" if unknown else "")


@cache
def _load(declared: Declared) -> object:
    try:
        return declared.point.load()
    except BaseException as error:
        if not _is_of_code(error):
            raise
        raise unusable(declared, f"cannot be loaded: {_text_of(error)}") from error


def _is_of_code(error: BaseException) -> bool:
    """Whether code may have raised this by itself: what ends a task from outside, such as its time-out, is let through."""
    return isinstance(error, Exception | SystemExit) or type(error).__name__ == "PanicException"  # of libraries in Rust


def _text_of(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - of a class of others
        text = ""
    return f"{type(error).__name__}: {text}"[:_SHOWN_CHARACTERS].rstrip(": ")


def _names_of(made: object) -> tuple[str, ...] | None:
    """Return the names that a declaration has itself; None for a kind that has none."""
    if not hasattr(made, "name"):
        return None
    others = (*getattr(made, "aliases", ()), *getattr(made, "implementations", ()))
    return tuple(name for name in (made.name, *others) if isinstance(name, str))
