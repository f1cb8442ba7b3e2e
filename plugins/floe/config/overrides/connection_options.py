"""A connector with what Airflow connections say of its catalog, of AWS and of its schema registry, for one task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from floe.config.catalogs.base import PREFIX
from floe.config.catalogs.connection import (
    AWS_CONN_TYPES,
    AWS_KEY,
    CATALOG_KEY,
    aws_properties,
    catalog_conn_types,
    catalog_properties,
)
from floe.config.connection_fields import ConnectionFields
from floe.config.connector import Connector
from floe.config.converters.base import ConverterSpec
from floe.config.converters.with_registry import api_of, has_registry, read_registry, registry_of
from floe.config.exceptions import ConfigError
from floe.config.keys.reader import OptionReader
from floe.config.parser import parse_connector
from floe.config.properties import Properties
from floe.config.providers.reference import Resolver, late_references
from floe.config.schema_registry.connection import CONN_TYPES, KEY, RegistryConnection, plain_name
from floe.config.schema_registry.settings import Api
from floe.config.secrets.deployment_key import CONN_ID
from floe.config.secrets.logins import group_in_catalog, stray_login

LookUpCatalog = Callable[[str, str], ConnectionFields]
"""Looks up a connection by its id; the second argument is the key that names it."""

Learn = Callable[[Mapping[str, object]], object]


def with_catalog(connector: Connector, look: LookUpCatalog, learn: Learn) -> tuple[Connector, tuple[str, ...]]:
    """Build the connector with the properties of the connections that ``floe.catalog.conn-id`` and ``floe.aws.conn-id`` name.

    Returns it with the names in their extra that have no effect. The same connector if it names none. ``learn`` gets the
    properties before anything else does. Properties of the catalog's connection count over those of AWS.

    :raises ConfigError: a connection of another kind, or a property that the connector's file could not have either.
    """
    unused: tuple[str, ...] = ()
    if conn_id := connector.connections.catalog:
        where = _where(connector, CATALOG_KEY, conn_id)
        kind = connector.catalog.type
        fields = _checked_catalog(conn_id, CATALOG_KEY, catalog_conn_types(kind), look, where)
        added = catalog_properties(fields, kind, connector.catalog.properties)
        whole = catalog_properties(fields, kind, {"type": kind})
        connector = _with(
            connector,
            _own_catalog_options(added, whole, connector, where, "into that connection, or into its extra field"),
            learn,
            where,
        )
    if conn_id := connector.connections.aws:
        where = _where(connector, AWS_KEY, conn_id)
        fields = _checked_catalog(conn_id, AWS_KEY, AWS_CONN_TYPES, look, where)
        added, unused = aws_properties(fields, connector.catalog.properties)
        whole, _ = aws_properties(fields, {})
        connector = _with(
            connector,
            _own_catalog_options(
                added, whole, connector, where, "as endpoint_url into the extra field of that connection"
            ),
            learn,
            where,
        )
    return connector, unused


def _with(connector: Connector, properties: Mapping[str, str], learn: Learn, where: str) -> Connector:
    added = {PREFIX + name: value for name, value in properties.items()}
    if not added:
        return connector
    learn(added)
    try:
        made = parse_connector({**connector.properties, **added}, narrowed=True)
    except ConfigError as error:
        raise ConfigError(*(f"{problem}. Nothing was done" for problem in error.problems)).located(where) from None
    references = {**connector.references, **dict.fromkeys(added, "")}
    return replace(made, references=Properties(references))


def _own_catalog_options(
    added: Mapping[str, str], whole: Mapping[str, str], connector: Connector, where: str, place: str
) -> Mapping[str, str]:
    """Return what a connection adds, without its login where the connector's is for another address.

    ``whole``: all that the connection says; ``place``: where an address of its own goes. Raises ConfigError where the
    connector has no login for that address.
    """
    given = connector.catalog.properties
    stray = stray_login({**whole, **added}, given, group_in_catalog)
    if stray is None:
        return added
    if not stray.is_replaced:
        raise ConfigError(stray.problem("the connection", f"{PREFIX}{{}}".format, f"put it {place}")).located(where)
    return {name: value for name, value in added.items() if name not in stray.logins}


def _where(connector: Connector, key: str, conn_id: str) -> str:
    return f"the Airflow connection {conn_id!r}, which {key} of connector {connector.name!r} names"


def _checked_catalog(conn_id: str, key: str, types: Sequence[str], look: LookUpCatalog, where: str) -> ConnectionFields:
    if conn_id == CONN_ID:
        msg = f"it contains floe's own key: no catalog gets it. Give {key} another connection. Nothing was done"
        raise ConfigError(msg).located(where)
    fields = look(conn_id, key)
    if fields.conn_type not in types:
        wanted = " or ".join(repr(name) for name in types if name)
        msg = f"it is of type {fields.conn_type!r}: this catalog's is of type {wanted}. Nothing was done"
        raise ConfigError(msg).located(where)
    return fields


# A connector with what an Airflow connection says of its schema registry, for one task. A plan has none of it.


LookUpRegistry = Callable[[str], RegistryConnection]
"""Looks up a connection by its id."""


def with_registry(
    connector: Connector, look: LookUpRegistry, learn: Callable[[Mapping[str, object]], object]
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
    connection = _checked_registry(connector.connections.registry, look, where)
    added: dict[str, str] = {}
    used: set[str] = set()
    for spec in specs:
        given = connector.properties.under(spec.prefix)
        options = _own_registry_options(connection, api_of(spec), given, spec.prefix, where)
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


def _own_registry_options(
    connection: RegistryConnection, api: Api, given: Mapping[str, str], prefix: str, where: str
) -> dict[str, str]:
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


def _checked_registry(conn_id: str, look: LookUpRegistry, where: str) -> RegistryConnection:
    if conn_id == CONN_ID:
        msg = f"it contains floe's own key: no registry gets it. Give {KEY} a connection of the registry. Nothing was done"
        raise ConfigError(msg).located(where)
    connection = look(conn_id)
    if connection.conn_type not in CONN_TYPES:
        msg = f"it is of type {connection.conn_type!r}: one to a registry is of type 'http'. Nothing was done"
        raise ConfigError(msg).located(where)
    return connection


# A connector with the values that its references mean, for one task. A plan has the references.


def resolve_config(
    connector: Connector, resolver: Resolver, learn: Callable[[Mapping[str, object]], object]
) -> Connector:
    """Build the connector with values in place of its references; the same one if it has none.

    ``learn`` gets the secrets among the values before anything else does.

    :raises ConfigError: a value that there is not, or that the connector cannot have.
    """
    texts = late_references(connector.properties)
    if not texts:
        return connector
    found = resolver.resolve(texts)
    learn({f"{number}.secret": value for number, value in enumerate(found.secrets)})
    learn(found.values)
    where = f"the references of connector {connector.name!r}"
    if found.problems:
        raise ConfigError(*(f"{problem}. Nothing was done" for problem in found.problems)).located(where)
    try:
        made = parse_connector({**connector.properties, **found.values}, narrowed=True)
    except ConfigError as error:
        raise error.located(where) from None
    return replace(made, references=Properties(texts))
