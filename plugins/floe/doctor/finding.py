"""What a check found: one line, and what to do."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from floe.config.report import readable
from floe.config.secrets.mask import clip

MAX_CHARACTERS = 600
"""Of a finding's text, and of its remedy."""


class Level(enum.Enum):
    """How a finding is to be taken."""

    OK = "ok"
    NOT_CHECKED = "not checked"
    WARNING = "warning"
    """A run may succeed now; later, or under other conditions, it may not."""
    PROBLEM = "problem"
    """A run fails, or data is at risk."""


@dataclass(frozen=True)
class Finding:
    """One result of a check. ``remedy``: what to do, empty where nothing is to be done."""

    name: str
    level: Level
    text: str
    remedy: str = ""

    @property
    def is_problem(self) -> bool:
        """Whether a run fails by it."""
        return self.level is Level.PROBLEM

    def cleaned(self) -> Finding:
        """Return it as it may be shown: each text one line of bounded length, without secrets."""
        return replace(self, text=_line(self.text), remedy=_line(self.remedy))

    def to_json(self) -> dict[str, str]:
        """Return it as JSON."""
        return {"check": self.name, "level": self.level.value, "text": self.text, "remedy": self.remedy}


@dataclass(frozen=True)
class About:
    """Makes the findings of one check."""

    name: str

    def ok(self, text: str) -> Finding:
        """Return what is as it has to be."""
        return Finding(self.name, Level.OK, text)

    def not_checked(self, text: str, remedy: str = "") -> Finding:
        """Return what could not be found out."""
        return Finding(self.name, Level.NOT_CHECKED, text, remedy)

    def warning(self, text: str, remedy: str) -> Finding:
        """Return what may become a problem."""
        return Finding(self.name, Level.WARNING, text, remedy)

    def problem(self, text: str, remedy: str) -> Finding:
        """Return what makes a run fail."""
        return Finding(self.name, Level.PROBLEM, text, remedy)


def _line(text: str) -> str:
    return readable(clip(" ".join(text.split()), MAX_CHARACTERS))
