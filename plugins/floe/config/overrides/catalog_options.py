"""A connector with what Airflow connections say of its catalog and of AWS, for one task. A plan has none of it."""

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
from floe.config.exceptions import ConfigError
from floe.config.parser import parse_connector
from floe.config.properties import Properties
from floe.config.secrets.deployment_key import CONN_ID
from floe.config.secrets.logins import group_in_catalog, stray_login

Look = Callable[[str, str], ConnectionFields]
"""Looks up a connection by its id; the second argument is the key that names it."""

Learn = Callable[[Mapping[str, object]], object]


def with_catalog(connector: Connector, look: Look, learn: Learn) -> tuple[Connector, tuple[str, ...]]:
    """Build the connector with the properties of the connections that ``floe.catalog.conn-id`` and ``floe.aws.conn-id`` name.

    Returns it with the names in their extra that have no effect. The same connector if it names none. ``learn`` gets the
    properties before anything else does. Properties of the catalog's connection count over those of AWS.

    :raises ConfigError: a connection of another kind, or a property that the connector's file could not have either.
    """
    unused: tuple[str, ...] = ()
    if conn_id := connector.connections.catalog:
        where = _where(connector, CATALOG_KEY, conn_id)
        kind = connector.catalog.type
        fields = _checked(conn_id, CATALOG_KEY, catalog_conn_types(kind), look, where)
        added = catalog_properties(fields, kind, connector.catalog.properties)
        whole = catalog_properties(fields, kind, {"type": kind})
        connector = _with(
            connector,
            _own(added, whole, connector, where, "into that connection, or into its extra field"),
            learn,
            where,
        )
    if conn_id := connector.connections.aws:
        where = _where(connector, AWS_KEY, conn_id)
        fields = _checked(conn_id, AWS_KEY, AWS_CONN_TYPES, look, where)
        added, unused = aws_properties(fields, connector.catalog.properties)
        whole, _ = aws_properties(fields, {})
        connector = _with(
            connector,
            _own(added, whole, connector, where, "as endpoint_url into the extra field of that connection"),
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


def _own(
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


def _checked(conn_id: str, key: str, types: Sequence[str], look: Look, where: str) -> ConnectionFields:
    if conn_id == CONN_ID:
        msg = f"it contains floe's own key: no catalog gets it. Give {key} another connection. Nothing was done"
        raise ConfigError(msg).located(where)
    fields = look(conn_id, key)
    if fields.conn_type not in types:
        wanted = " or ".join(repr(name) for name in types if name)
        msg = f"it is of type {fields.conn_type!r}: this catalog's is of type {wanted}. Nothing was done"
        raise ConfigError(msg).located(where)
    return fields
