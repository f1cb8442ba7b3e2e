"""Values that connectors refer to, looked up in this task: environment, files, and Airflow's connections and variables."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from floe.config.connection_fields import ConnectionFields
from floe.config.overrides.catalog_options import with_catalog
from floe.config.overrides.registry_options import with_registry
from floe.config.overrides.resolved_config import resolve_config
from floe.config.providers.base import ProviderContext
from floe.config.providers.operator_settings import OperatorSettings
from floe.config.providers.resolution import Resolver
from floe.config.registry.connection import KEY, RegistryConnection
from floe.config.stored.secret_provider import with_stored_secrets
from floe.operators import task_context
from floe.operators.failures import keep_secret

if TYPE_CHECKING:
    from floe.config import Connector

log = logging.getLogger(__name__)

_EXTRA = "extra."


def resolved(connector: Connector) -> Connector:
    """Return the connector with what its references and its connections mean, those of registry, catalog and AWS.

    They are hidden from here on. Raises ConfigError, ConnectionMissing.
    """
    providers = with_stored_secrets(OperatorSettings.present().providers, connector.name)
    resolver = Resolver(providers, provider_context())
    made = resolve_config(connector, resolver, keep_secret)
    made, unused = with_registry(made, _registry_connection, keep_secret)
    for name in unused:
        log.warning("the Airflow connection %r: %r in its extra has no effect", made.connections.registry, name[:100])
    made, unused = with_catalog(made, connection_fields, keep_secret)
    for name in unused:
        log.warning("the Airflow connection %r: %r in its extra has no effect", made.connections.aws, name[:100])
    return made


def provider_context() -> ProviderContext:
    """Return what config providers read in a task."""
    return ProviderContext(os.environ, _connection_field, _variable)


def _registry_connection(conn_id: str) -> RegistryConnection:
    return RegistryConnection(**vars(connection_fields(conn_id, KEY)))


def connection_fields(conn_id: str, key: str) -> ConnectionFields:
    """Return the fields of an Airflow connection, which ``key`` names. Raises ConnectionMissing."""
    found = task_context.connection(conn_id, key)
    return ConnectionFields.of(conn_id, found)


def _connection_field(conn_id: str, name: str) -> str | None:
    from airflow.sdk import BaseHook
    from airflow.sdk.exceptions import AirflowNotFoundException

    try:
        found = BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        return None  # any other error is raised: what cannot be looked up now may be there
    is_extra = name.startswith(_EXTRA)
    value = found.extra_dejson.get(name.removeprefix(_EXTRA)) if is_extra else getattr(found, name)
    return None if value is None else str(value)


def _variable(name: str, _: str) -> str | None:
    from airflow.sdk import Variable

    value = Variable.get(name, default=None)
    return None if value is None else str(value)
