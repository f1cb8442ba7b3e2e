"""What the options of a converter say about its registry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from floe.config.keys.option_reader import OptionReader
from floe.config.registry.settings import RegistrySettings


@dataclass(frozen=True)
class RegistryOptions:
    """The registry of a converter. ``settings`` is None where there are problems.

    ``used``: the options that were read; all others are for the converter itself, or unknown. ``without_effect``: those
    of them that change nothing, with the reason.
    """

    settings: RegistrySettings | None
    used: frozenset[str]
    problems: tuple[str, ...]
    without_effect: Mapping[str, str]

    @classmethod
    def of(cls, options: OptionReader, settings: RegistrySettings) -> RegistryOptions:
        """Return the settings, if there were no problems."""
        found = None if options.problems else settings
        return cls(found, frozenset(options.used), tuple(options.problems), dict(options.without_effect))
