"""Making, changing and deleting connectors: what a file has is changed by its file, the rest in Airflow's database."""

from __future__ import annotations

import dataclasses
import logging
import os
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.configuration import conf
from airflow.models.dag import DagModel, DagTag
from airflow.models.dagbag import DagPriorityParsingRequest
from airflow.models.dagbundle import DagBundleModel
from airflow.models.taskinstance import TaskInstance, clear_task_instances
from airflow.sdk import timezone
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState
from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.orm import Session

from floe.api.connect import access, connector_store, wanted_states
from floe.api.connect.check_queue import CHECKS
from floe.api.connect.connector_states import FAILED, States
from floe.api.connect.connector_store import FOLDER, ConnectorRow, KnownConnector, known_connectors
from floe.api.connect.http import ConnectError
from floe.api.dag_states import SINK, TAG
from floe.config import ConfigError, Connector, ConnectorFile
from floe.config.document import check_count
from floe.config.names import REPLAY_SUFFIX
from floe.config.secrets.mask import without_secrets
from floe.config.stored.budget import Use
from floe.config.stored.operator_lists import secret_reference
from floe.config.stored.stored_connector import (
    DELETED,
    PAUSED,
    RUNNING,
    STOPPED,
    StoredConnector,
    groups_of,
    parsed,
    place_of,
    secrets_from_text,
)

INITIAL: Final = (RUNNING, PAUSED, STOPPED)


def create(
    session: Session, user: BaseUser, name: str, config: Mapping[str, str], initial_state: str = RUNNING
) -> None:
    """Make a connector. Raises ConnectError: 400 with all problems, 409 where there is one of this name."""
    _require_free(session, name)
    _require_no_dag(session, name)
    begun = StoredConnector(name, {}, made=timezone.utcnow())
    stored = _checked(session, begun, name, config, is_paused=initial_state != RUNNING)
    connector_store.create(session, stored)
    connector_store.set_mark(session, name, STOPPED if initial_state == STOPPED else None)
    # a DAG of this name may be there from before
    session.execute(update(DagModel).where(DagModel.dag_id == name).values(is_paused=stored.is_paused))
    access.record(session, user, "create", name, keys=stored.config, initial_state=initial_state)
    session.commit()
    request_parsing()


def replace(session: Session, user: BaseUser, known: KnownConnector, config: Mapping[str, str]) -> None:
    """Give a connector another configuration; the state of its DAG stays.

    Raises ConnectError: 409 for a connector of a file with another configuration, or if it is changed at the same time.
    """
    row = known.row
    if row is None:
        _require_same(known, config)
        return
    before = known.stored or StoredConnector(known.name, {})
    before = dataclasses.replace(before, secrets=_secrets(session, known.name))
    stored = _checked(session, before, known.name, config, is_paused=before.is_paused)
    if stored == before and dict(stored.secrets) == dict(before.secrets):
        return
    connector_store.replace(session, stored, row)
    access.record(session, user, "configure", known.name, keys=_changed(before.values, stored.values))
    session.commit()
    request_parsing()


def delete(session: Session, user: BaseUser, known: KnownConnector) -> None:
    """Remove a connector that REST made; the history of its DAG stays. It is unknown from here on.

    A run that is active, a replay too, goes on to its end with the configuration, which is removed then.
    """
    connector_store.hold(session, known.name, _require_rest(known))
    wanted_states.end_runs(session, known.name, DagRunState.QUEUED)
    wanted_states.want(session, known.name, DELETED)
    access.record(session, user, "delete", known.name)
    session.commit()
    request_parsing()


def _require_free(session: Session, name: str) -> None:
    """Raise ConnectError (409) where there is a connector of the name, also one that the caller may not read."""
    if name not in known_connectors(session, name):
        return
    msg = f"Connector {name} already exists"
    if name in wanted_states.leaving(session, name):
        msg = (
            "Cannot complete request because of a conflicting operation: a connector of this name was deleted, and goes "
            f"when {wanted_states.awaited(session, name)} has ended. Nothing was changed. Send the request again then."
        )
    raise ConnectError(409, msg)


def _require_no_dag(session: Session, name: str) -> None:
    """Raise ConnectError (409) where a DAG that is no connector's has the name, or that of its replay DAG."""
    dags = (name, name + REPLAY_SUFFIX)
    found: dict[str, set[str | None]] = {}
    query = select(DagModel.dag_id, DagTag.name).outerjoin(DagTag, DagTag.dag_id == DagModel.dag_id)
    for dag_id, tag in session.execute(query.where(DagModel.dag_id.in_(dags))):
        found.setdefault(dag_id, set()).add(tag)
    others = [dag_id for dag_id, tags in found.items() if TAG not in tags or tags.isdisjoint((*SINK, "replay"))]
    if others:
        msg = f"Airflow has a DAG {min(others)!r}, which is no connector's: choose another name. Nothing was changed."
        raise ConnectError(409, msg)


def _checked(
    session: Session, before: StoredConnector, name: str, config: Mapping[str, str], *, is_paused: bool
) -> StoredConnector:
    """Return what is to be stored, if its values are those of a connector that may be made here, and there is room."""
    groups = groups_of(FOLDER.files())
    try:
        check_count(len(config))
        with CHECKS.turn():
            stored = StoredConnector.of(name, {**config, "name": name}, before, is_paused)
            parsed(StoredConnector(name, stored.values), os.environ, groups)
            connector = parsed(stored, os.environ, groups)
    except ConfigError as error:
        raise invalid(error.first_problems(), config, before.secrets) from None
    _require_room(session, stored, connector)
    return stored


def _require_room(session: Session, stored: StoredConnector, connector: Connector) -> None:
    """Raise ConnectError (403) where the connectors made by REST would be too large together."""
    name = stored.name
    kept = [one for one in known_connectors(session).values() if one.name != name and not one.file.is_left_out]
    use = sum((Use.of(one.row.text, one.file) for one in kept if one.row is not None), Use())
    own = Use.of(stored.to_text(), ConnectorFile(place_of(name), name, connector, None))
    if (problem := (use + own).problem()) is not None:
        msg = (
            f"There is no room for the connector {name}: {problem}. Nothing was changed. Delete other connectors, or write "
            "connectors into files, which have no such limit."
        )
        raise ConnectError(403, msg)


def invalid(problems: tuple[str, ...], *settings: Mapping[str, str]) -> ConnectError:
    """Answer about a configuration with errors, as Connect does, without the secrets among settings."""
    shown: Collection[str] = problems
    for some in settings:
        shown = without_secrets(some, shown)
    listed = "".join(f"\n{problem}" for problem in shown)
    msg = (
        f"Connector configuration is invalid and contains the following {len(problems)} error(s):{listed}\n"
        "You can also find the above list of errors at the endpoint `/connector-plugins/{connectorType}/config/validate`"
    )
    return ConnectError(400, msg)


def _require_same(known: KnownConnector, config: Mapping[str, str]) -> None:
    own = known.config
    given = {**config, "name": known.name}
    same = given.keys() == own.keys() and all(
        value in (own[key], secret_reference(known.name, key)) for key, value in given.items()
    )
    if not same:
        msg = (
            f"The connector {known.name} is defined by the file {known.file.path.name!r}, which REST does not change. "
            "Nothing was changed: edit the file."
        )
        raise ConnectError(409, msg)


def _require_rest(known: KnownConnector) -> ConnectorRow:
    if known.row is None:
        msg = (
            f"The connector {known.name} is defined by the file {known.file.path.name!r}, which REST does not delete. "
            "Nothing was changed: remove the file, or stop the connector."
        )
        raise ConnectError(409, msg)
    return known.row


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def _secrets(session: Session, name: str) -> dict[str, str]:
    return secrets_from_text(connector_store.secrets_text(session, name))


# Pause, resume, stop, restart: what these calls mean for the DAG of a connector.


_ORDER: Final = {"plan": 0, "write": 1, "commit": 2}
_FAILED: Final = ("failed", "upstream_failed")


_EVENTS: Final = {PAUSED: "pause", STOPPED: "stop", RUNNING: "resume"}


def set_state(session: Session, user: BaseUser, known: KnownConnector, state: str) -> None:
    """Let a connector be running, paused or stopped. A run that is active goes on to its end, and no other begins."""
    wanted_states.want(session, known.name, state)
    access.record(session, user, _EVENTS[state], known.name)
    session.commit()


def restart(session: Session, user: BaseUser, known: KnownConnector) -> None:
    """Clear the failed tasks of the last run, so that they run again; nothing where the last run did not fail."""
    states = States.read(session, [known.name])
    run = states.failed_run(known)
    if states.of(known)[2] != FAILED or run is None:
        return
    chosen = (TaskInstance.dag_id == known.name, TaskInstance.run_id == run.run_id)
    tasks = sorted(session.scalars(select(TaskInstance).where(*chosen)), key=lambda one: _ORDER.get(one.task_id, 0))
    failed = next((at for at, one in enumerate(tasks) if one.state in _FAILED), len(tasks))
    # what is behind a failed task may have ended well without it
    clear_task_instances(tasks[failed:], session)
    cleared = [task.task_id for task in tasks[failed:]]
    access.record(session, user, "restart", known.name, run_id=run.run_id, tasks=cleared)
    session.commit()


# The request that Airflow parses the files of connectors made by REST now, by which one is a DAG within seconds.


log = logging.getLogger(__name__)

FILES: Final = ("rest_sink.py", "rest_replay.py")


def request_parsing() -> None:
    """Ask for the files with DAGs of connectors made by REST. Harmless if the same was asked for already, and if it fails.

    Airflow parses the files again in any case, only later.
    """
    try:
        with create_session() as session:
            places = _places(session)
        for bundle, file in sorted(places):
            _request(bundle, file)
    except SQLAlchemyError as error:
        log.warning("The change of a connector waits for Airflow's next parsing of %s: %s", FILES, type(error).__name__)


def _request(bundle: str, file: str) -> None:
    try:
        with create_session() as session:
            session.add(DagPriorityParsingRequest(bundle_name=bundle, relative_fileloc=file))
    except IntegrityError:
        log.debug("The parsing of %s is asked for already", file)


def _places(session: Session) -> set[tuple[str, str]]:
    """Return bundle and path of the files: beside those that made floe's DAGs, or in the folder of DAGs if there is none."""
    query = (
        select(DagModel.bundle_name, DagModel.relative_fileloc)
        .join(DagTag, DagTag.dag_id == DagModel.dag_id)
        .where(DagTag.name == TAG, DagModel.bundle_name.is_not(None), DagModel.relative_fileloc.is_not(None))
        .distinct()
    )
    folders = {(str(bundle), PurePosixPath(str(file)).parent) for bundle, file in session.execute(query)}
    if folders:
        return {(bundle, str(folder / file)) for bundle, folder in folders for file in FILES}
    folder = Path(conf.get("core", "dags_folder"))
    bundles = session.scalars(select(DagBundleModel.name).where(DagBundleModel.active.is_(True))).all()
    return {(bundle, file) for bundle in bundles for file in FILES if (folder / file).is_file()}
