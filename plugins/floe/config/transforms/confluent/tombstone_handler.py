"""The settings of Confluent's ``TombstoneHandler``: what becomes of tombstones."""

from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.keys.option_reader import OptionReader
from floe.config.properties import Properties
from floe.config.transforms.options import TopicKept, TransformClass, of_job

_BEHAVIOR: Final = "behavior"
_FAIL: Final = "fail"
_OTHERS: Final = {"drop_silent": "ignore", "drop_warn": "warn"}
"""Words for the same of a transform of this name that others have."""


@dataclass(frozen=True)
class TombstoneHandler(TopicKept):
    """``behavior``: "ignore" and "warn" leave tombstones out, "warn" with a warning; "fail" refuses them."""

    engine: ClassVar = of_job("confluent.tombstone_handler:Tombstones", reads="nothing")

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


CLASS: Final = TransformClass("io.confluent.connect.transforms.TombstoneHandler", (_BEHAVIOR,), read_tombstone_handler)
