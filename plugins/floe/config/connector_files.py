"""The folder of connector files. A broken file does not affect the others."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from floe.config.connector import Connector
from floe.config.document import MAX_BYTES, parse_document, unwrap
from floe.config.exceptions import ConfigError, MalformedFile
from floe.config.identity import DEFAULT_INTERVAL_MS, UNKNOWN, Identity, identity_in_text, identity_of
from floe.config.names import legal_name
from floe.config.parser import parse_connector
from floe.config.providers.allow_list import OperatorSettings
from floe.config.sections.dag import INTERVAL, Schedule
from floe.config.worker_defaults import with_defaults

FOLDER_VARIABLE = "FLOE_CONNECTORS_DIR"
_SHOWN_PATHS = 5
_MAX_PARSED = 1000
_FORMATS = {".properties": "a properties file", ".yaml": "YAML", ".yml": "YAML"}
_OTHER_FORMAT = (
    "it is {kind} by its name, and a connector is one JSON object: write the same keys and values as JSON into a file that "
    "ends in .json"
)


@dataclass(frozen=True)
class ConnectorFile:
    """One file: its connector, or the error that says why there is none.

    ``name`` is a legal dag_id that no other file of the folder has. For a broken file it is the one in its text, else the
    one that it had when it was last valid, else one made from the file's name (``is_name_from_file``). ``interval_ms`` and
    ``schedule`` are found likewise, with five minutes as the default. ``given``: the keys in the file of a connector.
    ``is_paused``: whether its DAG begins paused; None for Airflow's own setting. ``is_left_out``: it has no DAG, as the
    connectors made by REST are too large together.
    """

    path: Path
    name: str
    connector: Connector | None
    error: ConfigError | None
    interval_ms: int = DEFAULT_INTERVAL_MS
    is_name_from_file: bool = False
    given: frozenset[str] = frozenset()
    is_paused: bool | None = None
    schedule: Schedule = INTERVAL
    is_left_out: bool = False


def connectors_folder(default: Path | None = None) -> Path:
    """Choose the folder: ``FLOE_CONNECTORS_DIR`` if it is set, else ``default``; without it, ``connectors`` of the DAGs."""
    named = os.environ.get(FOLDER_VARIABLE, "").strip()
    return Path(named).expanduser() if named else default or _dags_folder() / "connectors"


def _dags_folder() -> Path:
    """Return Airflow's folder of DAGs, as far as the environment says it."""
    named = os.environ.get("AIRFLOW__CORE__DAGS_FOLDER")
    return Path(named or Path(os.environ.get("AIRFLOW_HOME") or "~/airflow", "dags")).expanduser()


def load_connectors(
    folder: Path | None = None, last_good: Mapping[str, Identity] = MappingProxyType({})
) -> list[ConnectorFile]:
    """Read every ``*.json`` of ``folder``, sorted by file name, dotfiles excepted.

    Without ``folder``: that of ``connectors_folder``. ``last_good``: by file name, the identities of files when they were
    last valid.

    :raises ConfigError: there is no such folder.
    """
    if folder is None:
        folder = connectors_folder()
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".json" and not path.name.startswith("."))
    except OSError as error:
        msg = f"the folder of connectors cannot be read ({error.strerror}): create it or set {FOLDER_VARIABLE}"
        raise ConfigError(msg).located(folder) from error
    return make_names_unique([read_file(path, last_good.get(path.name, UNKNOWN)) for path in paths])


def read_connector(path: Path) -> Connector:
    """Read one connector file.

    :raises ConfigError: with the file's name and all problems found.
    """
    file = read_file(path)
    if file.connector is None:
        raise file.error or ConfigError("no connector")
    return file.connector


def read_file(path: Path, last_good: Identity = UNKNOWN) -> ConnectorFile:
    """Read one file; problems are returned, not raised."""
    try:
        content = _content(path)
    except MalformedFile as error:
        return _unreadable(path, last_good, error)
    parsed = _parsed(content, path.stem)
    if parsed.connector is None:
        problems = parsed.problems
        if issubclass(parsed.failure, MalformedFile) and path.suffix in _FORMATS:
            problems = (_OTHER_FORMAT.format(kind=_FORMATS[path.suffix]),)
        return _unreadable(path, parsed.identity.or_else(last_good), parsed.failure(*problems))
    connector, interval_ms = parsed.connector, parsed.connector.committing.interval_ms
    return ConnectorFile(
        path, connector.name, connector, None, interval_ms, given=parsed.given, schedule=connector.schedule
    )


def _unreadable(path: Path, identity: Identity, error: ConfigError) -> ConnectorFile:
    return ConnectorFile(
        path=path,
        name=identity.name or legal_name(path.stem),
        connector=None,
        error=error.located(path),
        interval_ms=identity.interval_ms or DEFAULT_INTERVAL_MS,
        is_name_from_file=identity.name is None,
        schedule=identity.schedule or INTERVAL,
    )


@dataclass(frozen=True)
class _Parsed:
    """The result of parsing one content under one file name: a connector, or a failure with its problems."""

    connector: Connector | None
    identity: Identity = UNKNOWN
    failure: type[ConfigError] = ConfigError
    problems: tuple[str, ...] = ()
    given: frozenset[str] = frozenset()


_PARSED: dict[tuple[bytes, str, object], _Parsed] = {}
"""By content, file name and the operator's settings: several DAG files of one process read the same folder."""


def _parsed(content: bytes, stem: str) -> _Parsed:
    operator = OperatorSettings.present()
    if b"${" in content or b"python:" in content or operator.has_references:
        return _parse(content, stem, operator)  # it also depends on the environment, or on modules of the user
    key = (hashlib.sha256(content).digest(), stem, operator.version)
    parsed = _PARSED.get(key)
    if parsed is None:
        parsed = _parse(content, stem, operator)
        while len(_PARSED) >= _MAX_PARSED:
            _PARSED.pop(next(iter(_PARSED)), None)
        _PARSED[key] = parsed
    return parsed


def _parse(content: bytes, stem: str, operator: OperatorSettings) -> _Parsed:
    try:
        document = parse_document(content)
    except MalformedFile as error:
        return _Parsed(None, identity_in_text(content[:MAX_BYTES]), type(error), error.problems)
    try:
        connector = parse_connector(document, default_name=stem, operator=operator)
    except ConfigError as error:
        return _Parsed(None, identity_of(document), type(error), error.problems)
    given = frozenset(unwrap(document)[0])
    return _Parsed(connector, given=given - with_defaults(dict.fromkeys(given, ""), operator.worker).taken)


def make_names_unique(files: list[ConnectorFile]) -> list[ConnectorFile]:
    """Mark connectors that share a name, or a group on the same brokers, as broken, and give broken files unique names."""
    files = _break_shared(files, lambda connector: connector.name, "the name")
    files = _break_shared(files, lambda connector: (connector.connections.kafka, connector.group_id), "the group")
    taken = {file.name for file in files if file.connector}
    return [file if file.connector else replace(file, name=_free_name(file.name, taken)) for file in files]


def _break_shared(
    files: list[ConnectorFile], identity: Callable[[Connector], object], what: str
) -> list[ConnectorFile]:
    owners: dict[object, list[ConnectorFile]] = {}
    for file in files:
        if file.connector:
            owners.setdefault(identity(file.connector), []).append(file)
    shared = {file.path: sharing for sharing in owners.values() if len(sharing) > 1 for file in sharing}
    return [_broken(file, shared[file.path], what) if file.path in shared else file for file in files]


def _broken(file: ConnectorFile, sharing: Iterable[ConnectorFile], what: str) -> ConnectorFile:
    connector = file.connector
    value = connector.name if connector and what == "the name" else connector and connector.group_id
    paths = [str(other.path) for other in sharing]
    others = " and ".join(paths[:_SHOWN_PATHS]) + (" and others" if len(paths) > _SHOWN_PATHS else "")
    msg = f"{what} {value!r} is used by several connector files, {others}: give each its own"
    return replace(file, connector=None, error=ConfigError(msg).located(file.path))


def _free_name(name: str, taken: set[str]) -> str:
    free, number = name, 2
    while free in taken:
        free, number = f"{name[:230]}-{number}", number + 1
    taken.add(free)
    return free


def _content(path: Path) -> bytes:
    try:
        # opening a pipe this way does not wait for its other end
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as stream:  # noqa: PTH123 - a path is opened above
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                msg = "this is no file: a connector is a JSON file"
                raise MalformedFile(msg)
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        msg = f"the file cannot be read: {error.strerror or error}"
        raise MalformedFile(msg) from error
    except ValueError as error:
        msg = "the path has a NUL character: no file can be there"
        raise MalformedFile(msg) from error
