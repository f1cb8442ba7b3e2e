"""A connector as the REST API stores it: its configuration in one Airflow Variable, its secrets in another.

Whoever parses DAGs reads the first. It has a reference in the place of each secret; tasks look up what it means.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from floe.config.document import parse_document
from floe.config.exceptions import ConfigError, MalformedFile
from floe.config.properties import flatten
from floe.config.providers.resolution import is_late
from floe.config.secrets.detection import is_secret
from floe.config.secrets.logins import directs_login, plain
from floe.config.stored.operator_lists import secret_reference

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
