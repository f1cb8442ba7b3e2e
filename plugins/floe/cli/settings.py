"""What a connector's servers need, looked up as far as it can be from here, and why the rest is not known."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, get_args

from floe.cli.airflow_lookup import connection, connection_field, variable
from floe.cli.output import NotLookedUp, NotUsable
from floe.config import Connector
from floe.config.connection_fields import ConnectionFields
from floe.config.exceptions import ConfigError
from floe.config.kafka.worker_keys import WorkerKeys
from floe.config.overrides.connection_options import with_catalog, with_registry
from floe.config.parser import parse_connector
from floe.config.properties import Properties
from floe.config.providers.allow_list import OperatorSettings
from floe.config.providers.base import ProviderContext
from floe.config.providers.reference import Resolver, late_references, providers_in
from floe.config.schema_registry.connection import RegistryConnection
from floe.config.secrets.mask import learn
from floe.doctor.check import Part
from floe.kafka.exceptions import KafkaMisconfigured
from floe.kafka.settings import KafkaSettings, Shared
from floe.side_by_side import side_by_side

_PARTS: tuple[tuple[str, Part], ...] = (
    ("iceberg.catalog.", "catalog"),
    ("iceberg.kafka.", "kafka"),
    ("consumer.override.", "kafka"),
    ("key.converter.", "registry"),
    ("value.converter.", "registry"),
)


@dataclass
class Surroundings:
    """A connector with values in the place of references, and the settings of its clients; None where not known.

    ``unknown``: by part, what could not be looked up. ``unusable``: by part, what does not exist or cannot be used.
    """

    connector: Connector
    settings: KafkaSettings | None = field(default=None, repr=False)
    spark: ConnectionFields | None = None
    unknown: dict[Part, str] = field(default_factory=dict)
    unusable: dict[Part, str] = field(default_factory=dict)

    def lacks(self, part: Part) -> bool:
        """Whether something of a part is not known."""
        return part in self.unknown or part in self.unusable

    def note(self, part: Part, error: Exception) -> None:
        """Keep why a part is not known; the first reason counts."""
        if not self.lacks(part):
            is_far = isinstance(error, NotLookedUp) and not isinstance(error, NotUsable)
            (self.unknown if is_far else self.unusable)[part] = str(error)


def look_up_within(seconds: float, connector: Connector) -> Surroundings:
    """Look up all that a connector refers to, no longer than that: then nothing is known. Raises nothing."""
    for _, found in side_by_side({"": partial(look_up, connector)}, 1, time.monotonic() + seconds):
        return found
    why = f"Airflow's database or secrets backend did not answer within {seconds:g} s"
    return Surroundings(connector, unusable=dict.fromkeys(get_args(Part), why))


def look_up(connector: Connector) -> Surroundings:
    """Look up all that a connector refers to. Raises nothing."""
    learn(connector.properties)
    found = Surroundings(connector)
    operator = OperatorSettings.present()
    resolver = Resolver(operator.providers, ProviderContext(os.environ, connection_field, variable))
    _resolve(found, resolver)
    _with_connections(found)
    if not found.lacks("kafka"):
        _with_kafka(found, operator, resolver)
    try:
        found.spark = connection(connector.connections.spark)
    except NotLookedUp as error:
        found.note("spark", error)
    return found


def _resolve(found: Surroundings, resolver: Resolver) -> None:
    """Put values in the place of references, those that have one."""
    texts = late_references(found.connector.properties)
    values: dict[str, str] = {}
    for key, text in texts.items():
        try:
            resolved = resolver.resolve({key: text})
        except NotLookedUp as error:
            _note(found, key, type(error)(f"{key}: {error}"))
            continue
        if resolved.problems:
            _note(found, key, NotUsable(resolved.problems[0]))
        learn({f"{number}.secret": value for number, value in enumerate(resolved.secrets)})
        learn(resolved.values)
        values |= resolved.values
    if not values:
        return
    try:
        made = parse_connector({**found.connector.properties, **values}, narrowed=True)
    except ConfigError as error:
        for key in values:
            _note(found, key, NotUsable(f"{key}: {error}"))
        return
    found.connector = replace(made, references=Properties(texts))


def _note(found: Surroundings, key: str, error: NotLookedUp) -> None:
    part = next((part for prefix, part in _PARTS if key.startswith(prefix)), None)
    if part is not None:
        found.note(part, error)


def _with_connections(found: Surroundings) -> None:
    """Add what Airflow connections say of registry, catalog and AWS."""
    if not found.lacks("registry"):
        try:
            found.connector, _ = with_registry(found.connector, _registry_connection, learn)
        except (NotLookedUp, ConfigError) as error:
            found.note("registry", error)
    if not found.lacks("catalog"):
        try:
            found.connector, _ = with_catalog(found.connector, lambda conn_id, _: connection(conn_id), learn)
        except (NotLookedUp, ConfigError) as error:
            found.note("catalog", error)


def _registry_connection(conn_id: str) -> RegistryConnection:
    return RegistryConnection(**vars(connection(conn_id)))


def _with_kafka(found: Surroundings, operator: OperatorSettings, resolver: Resolver) -> None:
    """Put worker file, Airflow connection and the connector's keys together; brokers may be in any of them."""
    missing, extra = None, None
    try:
        extra = connection(found.connector.connections.kafka).extra
    except NotLookedUp as error:
        missing = error

    def resolve(settings: Mapping[str, str]) -> Mapping[str, str]:
        return _resolved(settings, resolver)

    shared = Shared(found.connector.connections.kafka, _plain(extra), WorkerKeys.of(operator.worker), resolve)
    try:
        found.settings = KafkaSettings.over(shared, found.connector)
    except (NotLookedUp, ConfigError, KafkaMisconfigured) as error:
        found.note("kafka", missing or error)
        return
    learn(found.settings.secrets)


def _plain(extra: Mapping[str, object] | None) -> Mapping[str, Any] | None:
    return None if extra is None else dict(extra)


def _resolved(settings: Mapping[str, str], resolver: Resolver) -> Mapping[str, str]:
    learn(settings)
    texts = {key: text for key, text in settings.items() if "${" in text and providers_in(text)}
    if not texts:
        return settings
    found = resolver.resolve(texts)
    learn({f"{number}.secret": value for number, value in enumerate(found.secrets)})
    learn(found.values)
    if found.problems:
        raise ConfigError(*found.problems)
    return {**settings, **found.values}
