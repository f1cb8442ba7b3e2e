"""What the files in ``dags/`` define: the DAGs of all connector files of the folder, and of connectors made by REST.

Those of REST are in files of their own: how many there are, and how large, does not delay the DAGs of connector files.
Airflow parses each of those files in a process of its own, again and again: so each kind of DAG is imported where it is made.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from airflow.sdk import DAG, get_parsing_context

from floe.airflow_settings import connectors_of_airflow, use_airflow_settings
from floe.cache_folder import cache_folder
from floe.config import ConfigError, ConnectorFile, connectors_folder, load_connectors
from floe.config.identity import MIN_INTERVAL_MS, Identity, IdentityStore
from floe.config.names import REPLAY_SUFFIX, STATUS_DAG
from floe.config.stored.operator_lists import OperatorLists
from floe.operators.dags.stored_connectors import stored_connectors

log = logging.getLogger(__name__)

KINDS: Final = ("sink", "replay", "rest-sink", "rest-replay", "status")
"""The DAGs of connector files and their replays, of connectors made by REST and their replays, and ``floe.status``."""


def connector_dags(folder: Path | str | None = None, kinds: Collection[str] = KINDS) -> dict[str, DAG]:
    """Build the DAGs of a folder of connectors, by dag_id: what a DAG file gives to ``globals().update``.

    ``folder``: the connectors, unless ``FLOE_CONNECTORS_DIR`` names another folder; ``connectors`` in Airflow's DAGs folder
    where neither does. ``kinds``: the DAGs to build, of ``KINDS``; those of a broken connector fail with what is wrong with
    it. Where Airflow reads the file for one task, the DAG of that task is built alone.

    :raises ConfigError: there is no such folder.
    :raises ValueError: there is no such kind.
    """
    if unknown := set(kinds) - set(KINDS):
        msg = f"there are no DAGs of kind {sorted(unknown)}: the kinds are {', '.join(KINDS)}"
        raise ValueError(msg)
    use_airflow_settings()
    of_folder = connectors_of_airflow() if folder is None else Path(folder)
    wanted = get_parsing_context().dag_id
    made: dict[str, DAG] = {}
    for kind in kinds if wanted is None else _kinds_of(wanted, kinds):
        made |= _BUILDERS[kind](of_folder, wanted)
        if wanted in made:
            break
    return made


def _kinds_of(dag_id: str, kinds: Collection[str]) -> list[str]:
    """Return the kinds that a DAG may be of; a connector made by REST first, as a file that is broken may have any name."""
    if dag_id == STATUS_DAG:
        fitting = ["status"]
    elif dag_id.endswith(REPLAY_SUFFIX):
        fitting = ["rest-replay", "replay"]
    else:
        fitting = ["rest-sink", "sink"]
    return [kind for kind in fitting if kind in kinds]


def sink_dags(default_folder: Path, wanted: str | None = None) -> dict[str, DAG]:
    """Build the sink DAG of each connector file, by dag_id; of the ``wanted`` one only, for a task.

    ``default_folder``: the connectors, unless ``FLOE_CONNECTORS_DIR`` names another folder.

    :raises ConfigError: there is no such folder.
    """
    return _sink_dags(_files(default_folder, wanted), wanted)


def replay_dags(default_folder: Path, wanted: str | None = None) -> dict[str, DAG]:
    """Build the replay DAG of each connector file, as ``sink_dags`` does."""
    return _replay_dags(_files(default_folder, _connector_of(wanted)), wanted)


def rest_sink_dags(default_folder: Path, wanted: str | None = None) -> dict[str, DAG]:
    """Build the sink DAG of each connector made by REST, as ``sink_dags`` does; names in the folder are not theirs."""
    return _sink_dags(_stored(default_folder, wanted), wanted)


def rest_replay_dags(default_folder: Path, wanted: str | None = None) -> dict[str, DAG]:
    """Build the replay DAG of each connector made by REST, as ``rest_sink_dags`` does."""
    return _replay_dags(_stored(default_folder, _connector_of(wanted)), wanted)


def connector_files(default_folder: Path) -> list[ConnectorFile]:
    """Return all connectors, also the broken ones. Raises ConfigError where there is no such folder."""
    files = _files(default_folder, None)
    return [*files, *stored_connectors(files)]


def check_connectors(folder: Path | str | None = None) -> None:
    """Raise one ImportError that lists all broken connectors with their problems, if there are any.

    ``folder``: as of ``connector_dags``. Airflow takes the DAGs of a file with an import error away: so this is called in a
    file without DAGs.
    """
    use_airflow_settings()
    of_folder = connectors_of_airflow() if folder is None else Path(folder)
    broken = [file for file in connector_files(of_folder) if file.connector is None]
    if broken:
        from floe.operators.dags.broken_dag import import_error

        raise ImportError(import_error(broken))


def _status_dags(default_folder: Path, wanted: str | None) -> dict[str, DAG]:
    if wanted not in (None, STATUS_DAG):
        return {}
    from floe.operators.status.collector import status_dag

    return {STATUS_DAG: status_dag(default_folder)}


def _sink_dags(files: list[ConnectorFile], wanted: str | None) -> dict[str, DAG]:
    return {file.name: _sink_dag(file) for file in files if wanted in (None, file.name) and not file.is_left_out}


def _replay_dags(files: list[ConnectorFile], wanted: str | None) -> dict[str, DAG]:
    dags = {file.name + REPLAY_SUFFIX: file for file in files if not file.is_left_out}
    return {dag_id: _replay_dag(file, dag_id) for dag_id, file in dags.items() if wanted in (None, dag_id)}


def _connector_of(replay: str | None) -> str | None:
    return None if replay is None else replay.removesuffix(REPLAY_SUFFIX)


def _stored(default_folder: Path, wanted: str | None) -> list[ConnectorFile]:
    # without the switch the folder is not read: these files are parsed as often as those of connector files
    return stored_connectors(_files(default_folder, None), wanted) if OperatorLists.of(os.environ).is_enabled else []


def _sink_dag(file: ConnectorFile) -> DAG:
    if file.connector is None:
        from floe.operators.dags.broken_dag import broken_sink_dag

        return broken_sink_dag(file)
    from floe.operators.dags.sink_dag import sink_dag

    dag = sink_dag(file.connector)
    if file.is_paused is not None:
        dag.is_paused_upon_creation = file.is_paused
    return dag


def _replay_dag(file: ConnectorFile, dag_id: str) -> DAG:
    if file.connector is None:
        from floe.operators.dags.broken_dag import broken_replay_dag

        return broken_replay_dag(file, dag_id)
    from floe.operators.dags.replay_dag import replay_dag

    return replay_dag(file.connector)


def _files(default_folder: Path, wanted: str | None) -> list[ConnectorFile]:
    """Read the folder with what is kept of it; where all of it is read, what is good now is kept."""
    folder = connectors_folder(default_folder)
    store = _store(folder)
    known = {} if store is None else store.load()
    files = load_connectors(folder, known)
    if wanted is None and store is not None:
        _keep(store, known, files)
    if wanted is not None and all(file.name != wanted for file in files):
        files += _broken_connector(files, wanted)
    return files


def _store(folder: Path) -> IdentityStore | None:
    try:
        cache = cache_folder(os.environ)
    except OSError as error:
        log.warning("Names of connectors are not kept, as the cache folder cannot be used: %s", error)
        return None
    return None if cache is None else IdentityStore(cache, folder)


def _keep(store: IdentityStore, known: dict[str, Identity], files: list[ConnectorFile]) -> None:
    kept = {
        file.path.name: Identity(file.name, max(file.interval_ms, MIN_INTERVAL_MS), file.schedule)
        if file.connector
        else known[file.path.name]
        for file in files
        if file.connector or file.path.name in known
    }
    if kept == known:
        return
    try:
        store.save(kept)
    except OSError as error:
        log.warning("Names of connectors are not kept in %s: %s", store.path, error)


def _broken_connector(files: list[ConnectorFile], wanted: str) -> list[ConnectorFile]:
    """Return a broken connector under the wanted name, where the name of a broken file is not known here.

    The DAG processor may know that name from before, on another host; the task fails with the errors all the same.
    """
    unnamed = [file for file in files if file.is_name_from_file]
    if not unnamed:
        return []
    problems = [f"{file.path}: {problem}" for file in unnamed for problem in (file.error or ConfigError()).problems]
    return [replace(unnamed[0], name=wanted, error=ConfigError(*problems))]


_BUILDERS: Final[Mapping[str, Callable[[Path, str | None], dict[str, DAG]]]] = {
    "sink": sink_dags,
    "replay": replay_dags,
    "rest-sink": rest_sink_dags,
    "rest-replay": rest_replay_dags,
    "status": _status_dags,
}
