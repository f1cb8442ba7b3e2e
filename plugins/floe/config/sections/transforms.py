"""The transforms of a connector, in their order, each with its condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from floe.config.engine import Engine
from floe.config.properties import Properties

if TYPE_CHECKING:
    from floe.config.transforms.options import By, SourceColumnNames, TransformOptions
    from floe.config.transforms.python_class import PythonClass


@dataclass(frozen=True)
class PredicateSpec:
    """A condition on records. ``type``: the Java class, ``engine``: the code; ``options``: its keys.

    ``package``: of the extension that declares it, if one does.
    """

    alias: str
    type: str
    engine: Engine
    options: Properties = Properties()  # noqa: RUF009 - immutable
    package: str = field(default="", compare=False)


@dataclass(frozen=True)
class TransformSpec:
    """One transform of a chain: picklable.

    ``type``: the Java class, or ``python:`` with that of Python. ``negate``: apply it if the condition fails. ``package``:
    of the extension that declares it, if one does.
    """

    alias: str
    type: str
    options: TransformOptions
    predicate: PredicateSpec | None = None
    negate: bool = False
    package: str = field(default="", compare=False)

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
    from floe.config.transforms.python_class import PythonClass

    return (spec.options for spec in specs if isinstance(spec.options, PythonClass))
