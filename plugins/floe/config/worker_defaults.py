"""What a connector takes from the worker file: converters that it does not name, and where it starts.

Client settings of that file are no keys of connectors (``floe.config.kafka.worker_keys``): each task reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, get_args

from floe.config.converters.base import Role, prefix_of
from floe.config.worker_file import WorkerFile

ROLES: Final[tuple[Role, ...]] = get_args(Role)
OFFSET_RESET: Final = "consumer.auto.offset.reset"
_OF_CONNECTOR: Final = "consumer.override.auto.offset.reset"


@dataclass(frozen=True)
class WithDefaults:
    """The keys of a connector with those that it takes from the worker file.

    ``taken``: the keys that are the worker's. ``warnings``: options that the connector gives without a class.
    """

    keys: Mapping[str, str]
    taken: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()

    def located(self, problem: str, worker: WorkerFile) -> str:
        """Return a problem, with the place of the key that it begins with if that is the worker file."""
        key = problem.partition(" ")[0].rstrip(":")
        return f"{problem} ({key} is from {worker.named})" if key in self.taken else problem


def is_default(key: str) -> bool:
    """Whether a key of a worker file may become one of a connector."""
    return key == OFFSET_RESET or any(key == f"{role}.converter" or key.startswith(prefix_of(role)) for role in ROLES)


def with_defaults(given: Mapping[str, str], worker: WorkerFile) -> WithDefaults:
    """Add the worker's defaults to the keys of a connector, as Connect does.

    Per role: a connector that names a class takes none of the worker's keys of that role. One that names none takes the
    worker's class with the worker's options, and its own options of that role count for nothing. The offset reset of the
    worker's consumers is that of connectors which have none.
    """
    keys, taken = dict(given), set[str]()
    warnings: list[str] = []
    for role in ROLES:
        key = f"{role}.converter"
        if key in given or key not in worker.keys:
            continue
        for option in [name for name in given if name.startswith(prefix_of(role))]:
            del keys[option]
            warnings.append(
                f"{option[:200]} has no effect: the connector names no {key}, so class and options are those of "
                f"{worker.named}. Name {key} too"
            )
        own = {name: value for name, value in worker.keys.items() if name == key or name.startswith(prefix_of(role))}
        keys |= own
        taken |= own.keys()
    if OFFSET_RESET in worker.keys and _OF_CONNECTOR not in given:
        keys[_OF_CONNECTOR] = worker.keys[OFFSET_RESET]
        taken.add(_OF_CONNECTOR)
    return WithDefaults(keys, frozenset(taken), tuple(warnings))
