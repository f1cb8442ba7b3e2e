"""The properties that every kind of transform declares about itself."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from floe.config.properties import Properties


@dataclass(frozen=True)
class SourceColumnNames:
    """Where rows have the topic, partition and offset of their record: paths of names."""

    topic: tuple[str, ...]
    partition: tuple[str, ...]
    offset: tuple[str, ...]


@dataclass(frozen=True)
class TransformOptions:
    """The settings of one transform; each kind has its own frozen dataclass, of JSON values.

    The defaults here are the cautious ones: a kind that does less overrides them.
    """

    @property
    def is_columnar(self) -> bool:
        """Whether it only adds columns to rows, for any record value: it needs no parsed record."""
        return False

    @property
    def columns(self) -> tuple[str, ...]:
        """The top-level columns that it adds; no two transforms may add the same."""
        return ()

    @property
    def changes_routing(self) -> bool:
        """Whether it may leave records out, or write what they are routed by: topic, key, headers, the route's field."""
        return True

    @property
    def renames_topic(self) -> bool:
        """Whether it may give records another topic."""
        return self.changes_routing

    @property
    def source_columns(self) -> SourceColumnNames | None:
        """Where it writes topic, partition and offset of the record, if it does."""
        return None

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON, for the route hash."""
        return asdict(self)


@dataclass(frozen=True)
class TransformClass:
    """A class of transforms that floe has.

    ``name``: the Java class. ``keys``: those that it reads below ``transforms.<alias>.``, beside ``type``. ``read`` gets
    a list for problems, the prefix for messages, and the keys; with a problem it may return None.
    """

    name: str
    keys: tuple[str, ...]
    read: Callable[[list[str], str, Properties], TransformOptions | None]

    @property
    def simple_name(self) -> str:
        """The class's name without its package."""
        return self.name.rpartition(".")[2]
