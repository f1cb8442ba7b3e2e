"""Values and connections that connectors refer to, looked up in this task; and the settings of Kafka clients."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from floe.config.connection_fields import ConnectionFields
from floe.config.exceptions import ConfigError
from floe.config.kafka.translation import translate
from floe.config.kafka.worker_keys import WorkerKeys
from floe.config.overrides.connection_options import resolve_config, with_catalog, with_registry
from floe.config.providers.allow_list import OperatorSettings
from floe.config.providers.base import ProviderContext
from floe.config.providers.reference import Resolver, providers_in
from floe.config.schema_registry.connection import KEY, RegistryConnection
from floe.config.stored.stored_connector import with_stored_secrets
from floe.operators import task_context
from floe.operators.exceptions import ConnectionMissing, ConnectionUnknown
from floe.operators.failures import keep_secret

if TYPE_CHECKING:
    from floe.config import Connector
    from floe.kafka.settings import KafkaSettings


# Values that connectors refer to, looked up in this task: environment, files, and Airflow's connections and
# variables.


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


# The client settings of a task: of the worker file, of the Airflow connection, and the connector's own.


CONN_ID_KEY: Final = "floe.kafka.conn-id"


def kafka_settings(connector: Connector) -> KafkaSettings:
    """Return the settings of the connector's clients, as worker file and Airflow connection are now.

    From here on their secrets and the connector's are hidden in this task's log: libraries quote them in errors. Raises
    ConnectionMissing, ConfigError, KafkaMisconfigured.
    """
    from floe.kafka.settings import KafkaSettings, Shared

    keep_secret(connector.properties)
    operator = OperatorSettings.present()
    if operator.worker.problems:
        raise ConfigError(*operator.worker.problems)
    worker = WorkerKeys.of(operator.worker)

    def resolve(settings: Mapping[str, str]) -> Mapping[str, str]:
        return _resolved(settings, operator, worker.named)

    shared = Shared(connector.connections.kafka, _extra(connector, worker), worker, resolve)
    settings = KafkaSettings.over(shared, connector)
    for name, why in translate(shared.connection or {}).without_effect.items():
        log.warning("the Airflow connection %r: %s has no effect: %s", shared.conn_id, name, why)
    keep_secret(settings.secrets)
    return settings


def _extra(connector: Connector, worker: WorkerKeys) -> Mapping[str, Any] | None:
    """Return the extra of the connector's connection; None where there is none, and none is needed."""
    is_named = CONN_ID_KEY in connector.properties
    remedy = f"; or put bootstrap.servers into {worker.named}"
    if worker.has_brokers:
        remedy = f"; or leave {CONN_ID_KEY} out: {worker.named} has brokers"
    try:
        extra: Mapping[str, Any] = task_context.connection(
            connector.connections.kafka, CONN_ID_KEY, remedy
        ).extra_dejson
    except ConnectionMissing:
        if is_named or not worker.has_brokers:
            raise
        _check_absent(connector.connections.kafka)
        log.info(
            "there is no Airflow connection %r: brokers are those of %s", connector.connections.kafka, worker.named
        )
        return None
    return extra


def _check_absent(conn_id: str) -> None:
    """Raise ConnectionUnknown unless Airflow's own answer is that there is no such connection.

    A lookup also finds none while Airflow does not answer: then the worker file's brokers would be another cluster.
    """
    from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
    from airflow.sdk.execution_time import task_runner
    from airflow.sdk.execution_time.comms import ErrorResponse, GetConnection

    supervisor = getattr(task_runner, "SUPERVISOR_COMMS", None)
    if supervisor is None:
        return  # outside of a task, the environment alone has connections
    try:
        answer = supervisor.send(GetConnection(conn_id=conn_id))
    except AirflowRuntimeError as error:
        answer = error.error
    if not isinstance(answer, ErrorResponse) or answer.error is not ErrorType.CONNECTION_NOT_FOUND:
        msg = (
            f"Airflow did not say whether there is a connection {conn_id!r}, which would count over the worker file. "
            "Nothing was done. Run again, or name a connection by floe.kafka.conn-id."
        )
        raise ConnectionUnknown(msg)


def _resolved(settings: Mapping[str, str], operator: OperatorSettings, named: str) -> Mapping[str, str]:
    """Return settings of the worker file with values in the place of references."""
    keep_secret(settings)
    texts = {key: text for key, text in settings.items() if "${" in text and providers_in(text)}
    if not texts:
        return settings
    found = Resolver(operator.providers, provider_context()).resolve(texts)
    keep_secret({f"{number}.secret": value for number, value in enumerate(found.secrets)})
    keep_secret(found.values)
    if found.problems:
        raise ConfigError(*(f"{problem}. Nothing was done" for problem in found.problems)).located(named)
    return {**settings, **found.values}
