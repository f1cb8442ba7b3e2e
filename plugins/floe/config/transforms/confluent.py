"""The settings of Confluent's transforms ``ExtractTopic`` and ``TombstoneHandler``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from floe.config.keys.reader import OptionReader
from floe.config.properties import Properties
from floe.config.transforms.options import By, TopicKept, TransformClass, TransformOptions, of_job

# The settings of Confluent's ``ExtractTopic``: a key, a value, a field of these or a header becomes the topic.


_FIELD, _FORMAT, _SKIP = "field", "field.format", "skip.missing.or.null"
_PLAIN, _JSON_PATH = "PLAIN", "JSON_PATH"
_MAX_STEPS: Final = 64
_STEP: Final = re.compile(
    r"""\.(?P<name>[^.\[\]'"\s*@()?$]+)"""
    r"""|\[\s*'(?P<single>(?:[^'\\]|\\.)+)'\s*\]"""
    r"""|\[\s*"(?P<double>(?:[^"\\]|\\.)+)"\s*\]"""
    r"""|\[\s*(?P<index>\d{1,9})\s*\]"""
)
_ESCAPE: Final = re.compile(r"\\(.)")

Source = Literal["key", "value", "header"]
"""What of a record names the topic."""

SOURCES: Final[tuple[tuple[str, Source], ...]] = (("Key", "key"), ("Value", "value"), ("Header", "header"))
"""How the classes end."""


@dataclass(frozen=True)
class ExtractTopic(TransformOptions):
    """``path``: names of fields and indices of arrays that lead to the topic, none for the whole key or value.

    ``header``: the name of the header. ``skips``: a record without such a text keeps its topic; else it is refused.
    """

    engine: ClassVar = of_job("confluent:ExtractedTopics", reads="columns")

    source: Source = "value"
    path: tuple[str | int, ...] = ()
    header: str = ""
    skips: bool = False

    @property
    def reads_keys(self) -> bool:
        return self.source == "key"

    def changes_routing(self, by: By, name: str) -> bool:
        return True


def _reader(source: Source) -> Callable[[list[str], str, Properties], ExtractTopic | None]:
    def read(problems: list[str], prefix: str, keys: Properties) -> ExtractTopic | None:
        options = OptionReader(keys, prefix)
        field, form = options.text(_FIELD), options.text(_FORMAT).upper() or _PLAIN
        path: tuple[str | int, ...] | None = (field,) if field and source != "header" else ()
        if form not in (_PLAIN, _JSON_PATH):
            options.refuse_value(_FORMAT, f"is none of {_PLAIN}, {_JSON_PATH}: write one of these")
        elif form == _JSON_PATH and source == "header":
            options.refuse_value(_FORMAT, f"a header has no fields: write {_PLAIN}, or remove it")
        elif form == _JSON_PATH and field:
            path = path_of(field)
        if path is None:
            options.refuse_value(_FIELD, 'is no path to one field: write $["a"]["b"], $.a.b or $.a[0]')
        if source == "header" and not field:
            options.miss(f"{prefix}{_FIELD} is missing: set the name of the header")
        skips = options.boolean(_SKIP, False)
        problems += options.problems
        return (
            None if options.problems else ExtractTopic(source, path or (), field if source == "header" else "", skips)
        )

    return read


def path_of(text: str) -> tuple[str | int, ...] | None:
    """Read a JSON path that leads to one value; None for another."""
    if not text.startswith("$"):
        return None
    steps: list[str | int] = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None or len(steps) >= _MAX_STEPS:
            return None
        quoted = found["single"] or found["double"]
        name = found["name"] if quoted is None else _ESCAPE.sub(r"\1", quoted)
        steps.append(int(found["index"]) if name is None else name)
        at = found.end()
    return tuple(steps) or None


EXTRACT_TOPIC: Final = tuple(
    TransformClass(f"io.confluent.connect.transforms.ExtractTopic${name}", (_FIELD, _FORMAT, _SKIP), _reader(source))
    for name, source in SOURCES
)


# The settings of Confluent's ``TombstoneHandler``: what becomes of tombstones.


_BEHAVIOR: Final = "behavior"
_FAIL: Final = "fail"
_OTHERS: Final = {"drop_silent": "ignore", "drop_warn": "warn"}
"""Words for the same of a transform of this name that others have."""


@dataclass(frozen=True)
class TombstoneHandler(TopicKept):
    """``behavior``: "ignore" and "warn" leave tombstones out, "warn" with a warning; "fail" refuses them."""

    engine: ClassVar = of_job("confluent:Tombstones", reads="nothing")

    behavior: str = "warn"


def read_tombstone_handler(problems: list[str], prefix: str, keys: Properties) -> TombstoneHandler | None:
    """Read the settings; problems are noted in ``problems``."""
    options = OptionReader(keys, prefix)
    behavior = options.text(_BEHAVIOR).lower() or TombstoneHandler.behavior
    behavior = _OTHERS.get(behavior, behavior)
    if behavior not in ("ignore", "warn", _FAIL):
        options.refuse_value(_BEHAVIOR, "is none of ignore, warn, fail: write one of these")
    problems += options.problems
    return None if options.problems else TombstoneHandler(behavior)


TOMBSTONE_HANDLER: Final = TransformClass(
    "io.confluent.connect.transforms.TombstoneHandler", (_BEHAVIOR,), read_tombstone_handler
)
