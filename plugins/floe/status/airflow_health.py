"""Whether Airflow's own parts are alive: scheduler, DAG processor and triggerer, by Airflow's own answer about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

HEALTHY: Final = "healthy"

_MEANS: Final = {
    "scheduler": "no run of any connector begins or goes on until it is started again",
    "dag_processor": "connectors that are made, changed or removed are not noticed until it is started again",
    "triggerer": "connectors need none; other DAGs that defer wait until it is started again",
}
_NAMES: Final = {"scheduler": "scheduler", "dag_processor": "DAG processor", "triggerer": "triggerer"}


@dataclass(frozen=True, slots=True)
class DeadPart:
    """A part of Airflow's that is not alive. ``heartbeat``: its last one, None where it never sent any."""

    part: str
    heartbeat: str | None

    @property
    def text(self) -> str:
        """Say which part it is, since when, and what that means."""
        since = f"sent its last heartbeat at {self.heartbeat}" if self.heartbeat else "has sent no heartbeat yet"
        return f"Airflow's {_NAMES[self.part]} is not alive: it {since}; {_MEANS[self.part]}"


@dataclass(frozen=True, slots=True)
class AirflowHealth:
    """The parts that are not alive. ``has_database``: whether Airflow's database answered; else no part is known."""

    dead: tuple[DeadPart, ...] = ()
    has_database: bool = True

    @classmethod
    def of(cls, answer: Mapping[str, Mapping[str, Any]]) -> AirflowHealth:
        """Read Airflow's own answer. A deployment may do without a triggerer; without the others no connector runs."""
        if answer["metadatabase"]["status"] != HEALTHY:
            return cls((), has_database=False)
        parts = ((name, answer[name]["status"], answer[name][f"latest_{name}_heartbeat"]) for name in _NAMES)
        return cls(
            tuple(
                DeadPart(name, heartbeat)
                for name, status, heartbeat in parts
                if status != HEALTHY and not (name == "triggerer" and status is None)
            )
        )

    @property
    def texts(self) -> tuple[str, ...]:
        """Say what is wrong, the scheduler first."""
        if not self.has_database:
            return ("Airflow's database does not answer: whether its scheduler is alive is not known",)
        return tuple(one.text for one in self.dead)

    @property
    def has_scheduler(self) -> bool:
        """Whether runs begin and go on, as far as is known."""
        return self.dead_part("scheduler") is None

    def to_json(self) -> list[str]:
        """Return what the page shows: what is wrong, a text each."""
        return list(self.texts)

    def dead_part(self, name: str) -> DeadPart | None:
        """Return the part of that name if it is not alive."""
        return next((one for one in self.dead if one.part == name), None)
