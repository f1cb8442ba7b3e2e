"""A connector with what an Airflow connection says of its schema registry, for one task. A plan has none of it."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from floe.config.connector import Connector
from floe.config.converters.base import ConverterSpec
from floe.config.converters.with_registry import api_of, has_registry, read_registry, registry_of
from floe.config.exceptions import ConfigError
from floe.config.keys.option_reader import OptionReader
from floe.config.parser import parse_connector
from floe.config.properties import Properties
from floe.config.registry.connection import CONN_TYPES, KEY, RegistryConnection, plain_name
from floe.config.registry.settings import Api
from floe.config.secrets.deployment_key import CONN_ID
from floe.config.secrets.logins import stray_login

Look = Callable[[str], RegistryConnection]
"""Looks up a connection by its id."""


def with_registry(
    connector: Connector, look: Look, learn: Callable[[Mapping[str, object]], object]
) -> tuple[Connector, tuple[str, ...]]:
    """Build the connector with the options of the connection that ``floe.registry.conn-id`` names.

    Returns it with the names in the connection's extra that are no options of a registry. The same connector if it names
    no connection, or has no converter with a registry. ``learn`` gets the options before anything else does.

    :raises ConfigError: a connection that cannot be one to a registry, an option that is missing, or that has a wrong value.
    """
    specs = _specs(connector)
    if not connector.connections.registry or not specs:
        return connector, ()
    where = (
        f"the Airflow connection {connector.connections.registry!r}, which {KEY} of connector {connector.name!r} names"
    )
    connection = _checked(connector.connections.registry, look, where)
    added: dict[str, str] = {}
    used: set[str] = set()
    for spec in specs:
        given = connector.properties.under(spec.prefix)
        options = _own(connection, api_of(spec), given, spec.prefix, where)
        reader = OptionReader({**options, **given})
        read_registry(reader, api_of(spec))
        used |= reader.used - reader.without_effect.keys()
        added |= {spec.prefix + name: value for name, value in options.items() if name in reader.used}
    learn(added)
    try:
        made = parse_connector({**connector.properties, **added}, narrowed=True)
        for spec in _specs(made):
            registry_of(spec)
    except ConfigError as error:
        raise ConfigError(*(f"{problem}. Nothing was done" for problem in error.problems)).located(where) from None
    references = {**connector.references, **dict.fromkeys(added, "")}
    return replace(made, references=Properties(references)), tuple(sorted(connection.extra.keys() - used))


def _own(connection: RegistryConnection, api: Api, given: Mapping[str, str], prefix: str, where: str) -> dict[str, str]:
    """Return what a connection adds, without its login where the connector's is for another address.

    Raises ConfigError where the connector has no login for that address.
    """
    added = connection.options(api, given)
    plain = {plain_name(api, name): value for name, value in given.items()}
    spelled = {plain_name(api, name): name for name in given}
    whole = {plain_name(api, name): value for name, value in {**connection.options(api, {}), **added}.items()}
    stray = stray_login(whole, plain, lambda _: "registry")
    if stray is None:
        return added
    if not stray.is_replaced:
        remedy = f"put it into that connection, or leave {KEY} out"
        problem = stray.problem("the connection", lambda name: prefix + spelled[name], remedy)
        raise ConfigError(problem).located(where)
    return {name: value for name, value in added.items() if plain_name(api, name) not in stray.logins}


def _specs(connector: Connector) -> list[ConverterSpec]:
    return [spec for spec in (connector.key_converter, connector.value_converter) if spec and has_registry(spec)]


def _checked(conn_id: str, look: Look, where: str) -> RegistryConnection:
    if conn_id == CONN_ID:
        msg = f"it contains floe's own key: no registry gets it. Give {KEY} a connection of the registry. Nothing was done"
        raise ConfigError(msg).located(where)
    connection = look(conn_id)
    if connection.conn_type not in CONN_TYPES:
        msg = f"it is of type {connection.conn_type!r}: one to a registry is of type 'http'. Nothing was done"
        raise ConfigError(msg).located(where)
    return connection
