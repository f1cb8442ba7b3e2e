"""Errors of the configuration.

    ConfigError             a connector is wrong; lists every problem found, one line each
    ├── MalformedFile       the file is not a JSON object that could contain a connector
    ├── OverrideRefused     a run's ``config`` param sets what a param must not set
    ├── ConfigRestoreError  a frozen configuration refers to a secret that the file no longer has
    └── ExtensionUnusable   what a distribution of others declares cannot be loaded

All are terminal: the same file fails again until it is changed.
"""

from floe.exceptions import Terminal

MAX_SHOWN_PROBLEMS = 100
_SHOWN_CHARACTERS = 2000


class ConfigError(Terminal):
    """A connector cannot be used as it is written."""

    code = "FLOE-103"

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems
        self.source = ""

    def located(self, source: object) -> "ConfigError":
        """Name the file (or param) that contains the problems."""
        self.source = str(source).encode(errors="backslashreplace").decode()
        return self

    def first_problems(self, limit: int = MAX_SHOWN_PROBLEMS) -> tuple[str, ...]:
        """Return at most ``limit`` problems, each shortened, and how many more there are."""
        first = tuple(
            problem if len(problem) <= _SHOWN_CHARACTERS else f"{problem[:_SHOWN_CHARACTERS]}…"
            for problem in self.problems[:limit]
        )
        more = len(self.problems) - len(first)
        return (*first, f"… and {more} more") if more else first

    def __str__(self) -> str:
        where = f"{self.source}: " if self.source else ""
        if len(self.problems) == 1:
            return self.coded(f"{where}{self.first_problems()[0]}")
        lines = "".join(f"\n  - {problem}" for problem in self.first_problems())
        return self.coded(f"{where}{len(self.problems)} errors{lines}")


class MalformedFile(ConfigError):
    """The file cannot be read as one JSON object."""

    code = "FLOE-102"


class OverrideRefused(ConfigError):
    """A run's ``config`` param names a key that only the connector file may set."""

    code = "FLOE-104"


class ConfigRestoreError(ConfigError):
    """A frozen configuration cannot be resolved with the current connector file."""

    code = "FLOE-105"


class ExtensionUnusable(ConfigError):
    """A connector names what a distribution of others declares, and that cannot be used here."""

    code = "FLOE-114"
