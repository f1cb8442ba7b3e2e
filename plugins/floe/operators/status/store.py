"""Status records in Airflow's variables, encrypted as Airflow does it. A status that cannot be kept fails nothing."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from floe.config.secrets.mask import clip

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from floe.status.record import StatusRecord

log = logging.getLogger(__name__)


def save(record: StatusRecord) -> bool:
    """Keep a record in the place of the connector's former one; False, with a warning, where that fails."""
    from floe.status.stored_record import dump, key_of

    name = record.status.name
    return _tried(f"The status of {name} was not kept", lambda: _set(key_of(name), name, dump(record)))


def load(name: str) -> StatusRecord | None:
    """Return a connector's record; None where there is none, or, with a warning, where it cannot be read."""
    from airflow.sdk import Variable

    from floe.status.stored_record import key_of, parse

    found: list[StatusRecord] = []

    def look() -> None:
        text = Variable.get(key_of(name), default=None)
        if text is not None:
            found.append(parse(str(text)))

    _tried(f"The former status of {name} is not used", look)
    return found[0] if found else None


def remove_others(names: Collection[str]) -> None:
    """Remove the records of all connectors but these: they were removed themselves."""
    from airflow.sdk import Variable

    from floe.status.stored_record import PREFIX, key_of

    known = {key_of(name) for name in names}

    def remove() -> None:
        for key in sorted(set(Variable.keys(prefix=PREFIX)) - known):
            if key.startswith(PREFIX):  # whatever the database takes for the same
                Variable.delete(key)
                log.info("%s is removed: there is no such connector any more", clip(key, 300))

    _tried("Records of connectors that were removed remain", remove)


def _set(key: str, name: str, text: str) -> None:
    from airflow.sdk import Variable

    Variable.set(key, text, description=f"floe: status of the connector {name}, written by its runs and by floe.status")


def _tried(failure: str, act: Callable[[], None]) -> bool:
    """Do what keeps or reads a status. What it is about has happened already: no error of it may fail the task."""
    try:
        act()
    except Exception as error:  # noqa: BLE001 - whatever it is
        why = clip(" ".join(f"{type(error).__name__}: {error}".split()), 500)
        log.warning("%s, which changes nothing else: %s", failure, why)
        return False
    return True
