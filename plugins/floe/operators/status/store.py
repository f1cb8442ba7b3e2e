"""Status records in Airflow's variables, encrypted as Airflow does it. A status that cannot be kept fails nothing."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from floe.config.secrets.mask import clip

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from floe.commit.run_commit import CommitReport
    from floe.config import Connector
    from floe.model.plan import Plan
    from floe.status.connector_status import CommitStatus, ConnectorStatus
    from floe.status.record import StatusRecord


log = logging.getLogger(__name__)


def save(record: StatusRecord) -> bool:
    """Keep a record in the place of the connector's former one; False, with a warning, where that fails."""
    from floe.status.record_codec import dump, key_of

    name = record.status.name
    return _tried(f"The status of {name} was not kept", lambda: _set(key_of(name), name, dump(record)))


def load(name: str) -> StatusRecord | None:
    """Return a connector's record; None where there is none, or, with a warning, where it cannot be read."""
    from airflow.sdk import Variable

    from floe.status.record_codec import key_of, parse

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

    from floe.status.record_codec import PREFIX, key_of

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


# The status record at the end of a run: what the run knows, over what the former record says. Nothing is looked up.


def keep(
    connector: Connector, status: ConnectorStatus | None, plan: Plan | None = None, report: CommitReport | None = None
) -> None:
    """Keep where a connector is after a run of its own, as far as that was found out; never raises.

    ``status``: what the task has looked up, None where it has not. ``report``: what it committed of ``plan``.
    """
    if status is None:
        return
    began = time.monotonic()
    try:
        from floe.status.record_reader import record_after_run

        commits = {} if plan is None or report is None else _commits(plan, report, status)
        record = record_after_run(status, load(connector.name), commits, connector.errors.table)
        save(record)
    except Exception as error:  # noqa: BLE001 - the run is done, whatever keeps its status from being kept
        why = clip(" ".join(f"{type(error).__name__}: {error}".split()), 500)
        log.warning("The status of %s was not kept, which changes nothing else: %s", connector.name, why)
    log.debug("keeping the status took %.0f ms", (time.monotonic() - began) * 1000)


def _commits(plan: Plan, report: CommitReport, status: ConnectorStatus) -> Mapping[str, CommitStatus]:
    """Return the run's last snapshot of each table, as the table itself will say it but for the details."""
    from floe.status.connector_status import CommitStatus

    kinds = {plan.slice_id(slice_): slice_.kind.value for slice_ in plan.slices}
    slice_id, kind = next(iter(kinds.items()), ("", ""))
    found: dict[str, CommitStatus] = {}
    for done in report.committed:
        if done.snapshot_id is None:
            continue
        files = done.table_files
        found[files.table] = CommitStatus(
            done.snapshot_id, status.at, kind, slice_id, done.counts.rows, files.file_count, done.counts.to_json()
        )
    return found
