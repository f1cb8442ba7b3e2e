"""Airflow connections to a catalog and to AWS, as the properties that a connector would have in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from floe.config.catalogs.catalog_types import TYPES
from floe.config.connection_fields import ConnectionFields, text_of

CATALOG_KEY: Final = "floe.catalog.conn-id"
AWS_KEY: Final = "floe.aws.conn-id"

AWS_CONN_TYPES: Final = ("aws",)
ANY_CONN_TYPES: Final = ("iceberg", "generic", "")
"""Of a catalog whose type floe does not know: it is refused for that."""

_AWS_CREDENTIALS: Final = ("access-key-id", "secret-access-key", "session-token")
_AWS_EXTRA: Final = {
    "region_name": "client.region",
    "role_arn": "client.role-arn",
    "role_session_name": "client.role-session-name",
    "endpoint_url": "s3.endpoint",
}
"""Airflow's names in the extra of a connection to AWS, with Iceberg's."""

Given = Mapping[str, str]
"""Properties of the catalog that the connector has itself, without their prefix. They count over a connection's."""


def catalog_conn_types(kind: str) -> tuple[str, ...]:
    """Return the types of connections that may be one to a catalog: a login to anything else is sent to none."""
    return TYPES[kind].conn_types if kind in TYPES else ANY_CONN_TYPES


def catalog_properties(connection: ConnectionFields, kind: str, given: Given) -> dict[str, str]:
    """Return the properties of a catalog of type ``kind`` that a connection adds to those of its connector.

    ``extra`` has properties without ``iceberg.catalog.``. Login and password are taken where neither the connector nor
    ``extra`` has other credentials.
    """
    extra = {
        name: text_of(value)
        for name, value in connection.extra.items()
        if isinstance(value, str | int | float) and name not in given
    }
    known = {**extra, **given}
    made = TYPES[kind].of_connection(connection, known) if kind in TYPES else {}
    return {**{name: value for name, value in made.items() if name not in known and value}, **extra}


def aws_properties(connection: ConnectionFields, given: Given) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the properties that a connection to AWS adds, and the names in its extra that have no effect.

    The keys are those of the connector, or all of them the connection's: parts of two logins are never mixed.
    """
    made = {
        name: text_of(value)
        for key, value in connection.extra.items()
        if (name := _AWS_EXTRA.get(key)) and isinstance(value, str | int) and value != ""
    }
    services = connection.extra.get("service_config")
    for service, found in services.items() if isinstance(services, Mapping) else ():
        if service in ("s3", "glue") and isinstance(found, Mapping) and found.get("endpoint_url"):
            made[f"{service}.endpoint"] = text_of(found["endpoint_url"])
    has_own = any(name.partition(".")[2] in _AWS_CREDENTIALS for name in given)
    if not has_own and connection.login:
        made |= {"client.access-key-id": connection.login, "client.secret-access-key": connection.password}
        if token := connection.extra.get("aws_session_token"):
            made["client.session-token"] = text_of(token)
    unused = sorted(connection.extra.keys() - _AWS_EXTRA.keys() - {"aws_session_token", "service_config"})
    return {name: value for name, value in made.items() if not _is_given(name, given)}, tuple(unused)


def _is_given(name: str, given: Given) -> bool:
    """Say whether the connector has a property itself, for all of AWS or for a service."""
    own = name.partition(".")[2]
    if name.startswith("client."):
        return any(f"{service}.{own}" in given for service in ("client", "s3", "glue"))
    return name in given
