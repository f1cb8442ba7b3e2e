"""The properties that every kind of transform declares about itself."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Final, Literal

from floe.config.engine import Engine
from floe.config.keys.reader import OptionReader
from floe.config.properties import Properties

Side = Literal["value", "key"]
"""What of a record a transform changes: classes with ``$Value`` and ``$Key``."""

_CODE: Final = "floe_job.transform"

SIDES: Final[tuple[tuple[str, Side], ...]] = (("Value", "value"), ("Key", "key"))
"""How the classes of each side end."""

By = Literal["none", "field", "header", "key"]
"""What records are routed by, see ``floe.config.sections.routing``."""


@dataclass(frozen=True)
class SourceColumnNames:
    """Where rows have the topic, partition and offset of their record: paths of names."""

    topic: tuple[str, ...]
    partition: tuple[str, ...]
    offset: tuple[str, ...]


@dataclass(frozen=True)
class TransformEngine:
    """The code of a kind of transform. ``records``: makes one from its settings.

    ``changes``: "records" where that is a transform of whole records, "values" where it changes each value by itself, "side"
    where it does so with the side that the settings name. ``columns``: of columnar settings, makes one transform of all of
    them in a chain. ``reads``: what it has to see of values: "nothing"; "columns" where they are, else objects; "objects".
    """

    records: Engine
    changes: Literal["records", "values", "side"] = "records"
    columns: Engine | None = None
    reads: Literal["nothing", "columns", "objects"] = "objects"

    @property
    def is_right(self) -> bool:
        """Whether its code is written as that of extensions has to be."""
        parts = (self.records, *(() if self.columns is None else (self.columns,)))
        return all(isinstance(part, Engine) and part.is_path for part in parts)


def of_job(
    records: str,
    *,
    changes: Literal["records", "values", "side"] = "records",
    columns: str = "",
    reads: Literal["nothing", "columns", "objects"] = "objects",
) -> TransformEngine:
    """Return the code below ``floe_job.transform``; ``records``, ``columns``: such as ``kafka.cast:CastChange``."""
    of_columns = Engine(f"{_CODE}.{columns}") if columns else None
    return TransformEngine(Engine(f"{_CODE}.{records}"), changes, of_columns, reads)


@dataclass(frozen=True)
class TransformOptions:
    """The settings of one transform; each kind has its own frozen dataclass, of JSON values, and names its code.

    The defaults here are the cautious ones: a kind that does less overrides them.
    """

    engine: ClassVar[TransformEngine]

    @property
    def is_columnar(self) -> bool:
        """Whether it only adds columns to rows, for any record value: it needs no parsed record."""
        return False

    @property
    def reads_keys(self) -> bool:
        """Whether it has to see the records' keys, as the key converter reads them."""
        return False

    @property
    def columns(self) -> tuple[str, ...]:
        """The top-level columns that it adds; no two transforms may add the same."""
        return ()

    def changes_routing(self, by: By, name: str) -> bool:
        """Whether it decides where records go, if they are routed ``by`` the field, header or key of this name.

        It does if it may leave records out, give them another topic or none of a value, or write what routes them.
        ``name``: the first name of the path; "" for whole keys.
        """
        return True

    @property
    def renames_topic(self) -> bool:
        """Whether it may give records another topic."""
        return True

    @property
    def writes_changes(self) -> bool:
        """Whether it makes rows of updates and deletes, with a column ``_cdc``."""
        return False

    @property
    def makes_fields(self) -> bool:
        """Whether it may make a value with fields of one without, such as a text."""
        return False

    @property
    def source_columns(self) -> SourceColumnNames | None:
        """Where it writes topic, partition and offset of the record, if it does."""
        return None

    @property
    def doubts(self) -> tuple[str, ...]:
        """What the settings do and most likely do not mean, for warnings: each begins with a key."""
        return ()

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON, for the route hash."""
        return asdict(self)

    def check(self) -> None:
        """Ask for all that a connector asks of its transforms later, for those of extensions. Raises what that raises."""
        _ = self.is_columnar, self.reads_keys, self.renames_topic, self.writes_changes, self.makes_fields
        _ = tuple(map(str, (*self.columns, *self.doubts))), self.source_columns, self.changes_routing("none", "")
        json.dumps(self.to_json())


@dataclass(frozen=True)
class TopicKept(TransformOptions):
    """The settings of a transform that leaves the topics of records as they are."""

    @property
    def renames_topic(self) -> bool:
        return False


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


@dataclass(frozen=True)
class PredicateClass:
    """A class of conditions: its ``name`` in Java, its ``keys``, what notes problems of their values, and its code."""

    name: str
    keys: tuple[str, ...]
    check: Callable[[list[str], str, Properties], None]
    engine: Engine

    @property
    def simple_name(self) -> str:
        """The class's name without its package."""
        return self.name.rpartition(".")[2]


def names_of(options: OptionReader, name: str) -> tuple[str, ...]:
    """Return the names of a list, as Connect splits it: at commas, without blanks around them; nothing for none."""
    text = options.text(name)
    return tuple(part.strip() for part in text.split(",")) if text else ()
