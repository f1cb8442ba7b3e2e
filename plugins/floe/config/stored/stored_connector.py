"""A connector as the REST API stores it: its configuration in one Airflow Variable, its secrets in another.

Whoever parses DAGs reads the first. It has a reference in the place of each secret; tasks look up what it means.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from floe.config.connector import Connector
from floe.config.connector_files import ConnectorFile
from floe.config.document import check_count, parse_document
from floe.config.exceptions import ConfigError, MalformedFile
from floe.config.identity import DEFAULT_INTERVAL_MS, INTERVAL, identity_of
from floe.config.names import connector_name_problem
from floe.config.parser import parse_connector
from floe.config.properties import Properties, flatten
from floe.config.providers.allow_list import Allowed, AllowList, OperatorSettings
from floe.config.providers.base import Lookup, ProviderClass, ProviderContext, ValueMissing
from floe.config.providers.reference import is_late
from floe.config.secrets.detection import is_secret
from floe.config.secrets.logins import directs_login, plain
from floe.config.stored.operator_lists import OperatorLists, secret_reference

CONNECTOR: Final = "floe.connector."
SECRETS: Final = "floe.connector-secrets."
STATE: Final = "floe.connector-state."
"""How the names of Variables begin; the connector's name follows."""

STOPPED: Final = "STOPPED"
PAUSED: Final = "PAUSED"
RUNNING: Final = "RUNNING"
DELETED: Final = "DELETED"
WANTED: Final = "wanted "
"""Values of a state Variable: STOPPED or PAUSED, which count while the connector's DAG is paused, or ``wanted`` and one of
the four, until Airflow has read the connector and no run of it is active.
"""

_USES: Final = {
    "catalog": ("iceberg.catalog", "iceberg.hadoop.", "floe.catalog.", "floe.aws."),
    "control client": ("iceberg.kafka.",),
    "source client": ("consumer.override.",),
    "key converter": ("key.converter",),
    "value converter": ("value.converter",),
}
"""Whose keys begin how. Kafka's connection is for both clients, the registry's for both converters."""

MAX_NAME: Final = 200
"""Characters of a name: those of a Variable's are limited."""


@dataclass(frozen=True)
class StoredConnector:
    """``config``: the flat map, with references in the place of secrets. ``is_paused``: whether its DAG begins paused.

    ``secrets``: the values by key, empty where they are not looked up. ``made``: when it was made; runs before were those
    of another connector of its name. None where that is not stored.
    """

    name: str
    config: Mapping[str, str]
    is_paused: bool = False
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    made: datetime | None = None

    @classmethod
    def of(
        cls, name: str, given: Mapping[str, str], before: StoredConnector | None, is_paused: bool
    ) -> StoredConnector:
        """Take the secrets out of a configuration; a reference keeps the secret of ``before``, as ``made`` is kept.

        :raises ConfigError: a reference to a secret that is not stored, or that would be sent elsewhere than until now.
        """
        config: dict[str, str] = {}
        secrets: dict[str, str] = {}
        known = {} if before is None else {**before.config, **before.secrets}
        missing = []
        moved = {} if before is None else _moved(before.config, given)
        for key, text in given.items():
            reference = secret_reference(name, key)
            is_kept = text.strip() == reference
            value = known.get(key, reference) if is_kept else text
            if value.strip() == reference:
                missing.append(f"{key}: {reference} refers to a secret that is not stored: send the value")
            elif is_kept and (why := moved.get(_use_of(key), moved.get(""))) is not None:
                missing.append(
                    f"{key}: its stored secret is for the settings that it was sent with, and {why} changes where it goes: "
                    "send the value again. Nothing was changed"
                )
            elif value.strip() and is_secret(key, value) and is_late(key):
                config[key], secrets[key] = reference, value
            else:
                config[key] = value
        if missing:
            raise ConfigError(*missing)
        return cls(name, config, is_paused, secrets, None if before is None else before.made)

    @property
    def values(self) -> dict[str, str]:
        """The configuration with its secrets."""
        return {**self.config, **self.secrets}

    def to_text(self) -> str:
        """Write the first Variable, which has no secret of ``secrets``."""
        made = {} if self.made is None else {"made": self.made.isoformat()}
        own = {"format": 1, "paused": self.is_paused, **made}
        return json.dumps({"name": self.name, "config": dict(self.config), "floe": own})

    @classmethod
    def from_text(cls, name: str, text: str) -> StoredConnector:
        """Read what :meth:`to_text` wrote, or what was written by hand in its place. Raises MalformedFile."""
        document = parse_document(text.encode(errors="replace"))
        config, floe = document.get("config"), document.get("floe")
        if not isinstance(config, Mapping):
            msg = f"the Variable {CONNECTOR}{name} has no object config: send the configuration again"
            raise MalformedFile(msg)
        flat, problems = flatten(config)
        if problems:
            raise MalformedFile(*problems)
        own: Mapping[str, object] = floe if isinstance(floe, Mapping) else {}
        return cls(name, flat, own.get("paused") is True, made=_time(own.get("made")))


def _use_of(key: str) -> str:
    """Return for whom a key is: a catalog, Kafka, a converter; "" for what may be for each."""
    return next((use for use, starts in _USES.items() if key.startswith(starts)), "")


def _moved(before: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return whose secrets would go elsewhere than until now, each with the key that changes it."""
    changed = (
        key
        for key in sorted({*before, *given})
        if plain(before.get(key)) != plain(given.get(key)) or (key in before) != (key in given)
    )
    return {_use_of(key): key for key in changed if directs_login(key, given.get(key) or before.get(key))}


def _time(value: object) -> datetime | None:
    """Read a time with its zone; None for what is none, as in a Variable that was written by hand."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return None if found is None or found.tzinfo is None else found


def shown_config(name: str, config: Mapping[str, str]) -> dict[str, str]:
    """Return a configuration for people, with a reference in the place of each secret."""
    return {key: secret_reference(name, key) if is_secret(key, value) else value for key, value in config.items()}


def secrets_from_text(text: str | None) -> dict[str, str]:
    """Read the Variable with secrets; none where it is not readable."""
    try:
        fields = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return {str(key): str(value) for key, value in fields.items()} if isinstance(fields, dict) else {}


# A stored connector, read as a connector file is: what is wrong with it is returned, not raised.


Groups = Collection[tuple[str, str]]
"""Connections and groups of the connectors in files."""

_GROUPS: Final = {"iceberg.connect.group-id": "connect-{}", "iceberg.control.group-id": "cg-control-{}"}


def groups_of(files: Collection[ConnectorFile]) -> Groups:
    """Return the groups that connectors in files have."""
    return {(file.connector.connections.kafka, file.connector.group_id) for file in files if file.connector}


def place_of(name: str) -> Path:
    """Name a stored connector where messages name a file."""
    return Path(f"connector {name} of the REST API")


def stored_file(name: str, text: str, environ: Mapping[str, str], groups: Groups) -> ConnectorFile:
    """Read the Variable of a connector."""
    try:
        stored = StoredConnector.from_text(name, text)
        connector = parsed(stored, environ, groups)
    except ConfigError as error:
        return ConnectorFile(place_of(name), name, None, error.located(place_of(name)), _interval(text))
    given = frozenset(stored.config)
    interval_ms = connector.committing.interval_ms
    return ConnectorFile(
        place_of(name),
        name,
        connector,
        None,
        interval_ms,
        given=given,
        is_paused=stored.is_paused,
        schedule=connector.schedule,
    )


def parsed(stored: StoredConnector, environ: Mapping[str, str], groups: Groups) -> Connector:
    """Parse a stored connector, by the operator's lists too.

    :raises ConfigError: with all that the lists refuse, or else all that is wrong with the keys.
    """
    name, config = stored.name, {**stored.config, "name": stored.name}
    check_count(len(config))
    problems = [*OperatorLists.of(environ).problems(name, config), *_foreign_groups(name, config)]
    if problems:
        raise ConfigError(*problems)  # before anything that values refer to is looked up
    operator = OperatorSettings.of(environ)
    operator = replace(operator, providers=with_stored_secrets(operator.providers, name))
    connector = parse_connector(config, default_name=name, operator=operator)
    if problems := name_problems(name):
        raise ConfigError(*problems)
    if (connector.connections.kafka, connector.group_id) in groups:
        msg = f"the group {connector.group_id!r} is that of a connector file: choose another name"
        raise ConfigError(msg)
    return connector


def name_problems(name: str) -> list[str]:
    """Return what is wrong with the name of a stored connector."""
    problem = connector_name_problem(name)
    if problem is None and len(name) > MAX_NAME:
        problem = f"the name {name[:40]!r}… has {len(name)} characters: one made by REST may have {MAX_NAME}"
    return [problem] if problem else []


def _foreign_groups(name: str, config: Mapping[str, str]) -> list[str]:
    """Refuse groups of other connectors: two that share one would take each other's offsets."""
    own = {key: form.format(name) for key, form in _GROUPS.items()}
    return [
        f"{key} {config[key][:200]!r}: a connector made by REST has the group {group!r}; remove the key"
        for key, group in own.items()
        if key in config and config[key].strip() != group
    ]


def _interval(text: str) -> int:
    try:
        config = StoredConnector.from_text("", text).config
    except ConfigError:
        return DEFAULT_INTERVAL_MS
    return identity_of({INTERVAL: config[INTERVAL]} if INTERVAL in config else {}).interval_ms or DEFAULT_INTERVAL_MS


# The config provider of stored secrets: ``${floe:<connector>:<key>}`` in a connector that the REST API made.


NAME: Final = "floe"
_OWNER: Final = "connector"


@dataclass(frozen=True)
class StoredSecretProvider:
    """Gives one connector its own secrets, if the operator's lists allow what is in them."""

    connector: str
    lookup: Lookup | None = field(repr=False)
    lists: OperatorLists = field(repr=False)

    @classmethod
    def make(cls, params: Mapping[str, str], context: ProviderContext) -> StoredSecretProvider:
        return cls(params[_OWNER], context.variable, OperatorLists.of(context.environ))

    def get(self, path: str, key: str) -> str:
        """Return the secret of the key ``key``, if ``path`` is the connector."""
        if path != self.connector:
            msg = f"it is a secret of the connector {path[:100]!r}, not of {self.connector!r}"
            raise ValueMissing(msg)
        if self.lookup is None:
            msg = "only a task of Airflow has it"
            raise ValueMissing(msg)
        value = secrets_from_text(self.lookup(SECRETS + path, "")).get(key, "")
        if not value.strip():  # a login that is blank would leave the workers' own
            msg = f"no secret of this key is stored: send the value by PUT …/connectors/{self.connector}/config"
            raise ValueMissing(msg)
        if (why := self.lists.problem(path, key, value)) is not None:
            raise ValueMissing(why)
        return value

    def is_secret(self, path: str, key: str) -> bool:
        return True


_KIND: Final = ProviderClass(NAME, _OWNER, StoredSecretProvider.make, needs_param=True)


def with_stored_secrets(allowed: AllowList, connector: str) -> AllowList:
    """Add the provider of a connector's own stored secrets to the operator's providers."""
    own = Allowed(_KIND, Properties({_OWNER: connector}))
    return replace(allowed, providers={**allowed.providers, NAME: own})
