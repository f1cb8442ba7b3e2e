"""An Airflow connection to a schema registry, as the options that a converter would have in its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from floe.config.connection_fields import ConnectionFields, text_of
from floe.config.keys.values import parse_list
from floe.config.schema_registry.confluent import NAMESPACE
from floe.config.schema_registry.settings import Api

KEY: Final = "floe.registry.conn-id"
CONN_TYPES: Final = ("http", "https", "generic", "")
"""Types of connections that may be one to a registry: a login to a database is sent to none."""

_URLS: Final[Mapping[Api, str]] = {"confluent": "schema.registry.url", "apicurio": "apicurio.registry.url"}
_BASIC, _USER_INFO = "basic.auth.credentials.source", "basic.auth.user.info"
_BEARER, _TOKEN = "bearer.auth.credentials.source", "bearer.auth.token"
_CREDENTIALS: Final[Mapping[Api, tuple[str, ...]]] = {
    "confluent": ("basic.auth.", "bearer.auth."),
    "apicurio": ("apicurio.auth.",),
}


class RegistryConnection(ConnectionFields):
    """A connection to a registry. ``extra``: options of converters, without the prefix of a role."""

    def options(self, api: Api, given: Mapping[str, str]) -> dict[str, str]:
        """Return the options that a converter takes from here, beside those ``given`` in its connector.

        An option that is given counts, in any of its spellings. Login and password are taken where there are no other
        credentials.
        """
        own = {plain_name(api, name) for name in given}
        found = {
            name: text_of(value)
            for name, value in self.extra.items()
            if isinstance(value, str | int | float) and plain_name(api, name) not in own
        }
        if self.address and not {plain_name(api, name) for name in (*found, *given)} & {plain_name(api, _URLS[api])}:
            found[_URLS[api]] = self.address
        return found | self._login(api, {plain_name(api, name): text for name, text in {**found, **given}.items()})

    def _login(self, api: Api, options: Mapping[str, str]) -> dict[str, str]:
        """Return the options of login and password. ``options``: all others, under their plain names."""
        others = [name for name in options if name.startswith(_CREDENTIALS[api])]
        asks_for_login = others == [_BASIC] and options[_BASIC].strip().upper() == "USER_INFO"
        if not (self.login or self.password) or (others and not asks_for_login):
            return {}
        if not asks_for_login and _has_login(options.get(plain_name(api, _URLS[api]), "")):
            return {}
        if api == "apicurio":
            return {"apicurio.auth.username": self.login, "apicurio.auth.password": self.password}
        if asks_for_login:
            return {_USER_INFO: f"{self.login}:{self.password}"}
        if not self.login:
            return {_BEARER: "STATIC_TOKEN", _TOKEN: self.password}
        return {_BASIC: "USER_INFO", _USER_INFO: f"{self.login}:{self.password}"}


def plain_name(api: Api, name: str) -> str:
    """Return an option under one name for all of its spellings."""
    if api == "apicurio":
        name = name.replace("apicurio.rest.", "apicurio.registry.", 1)
        return name.replace("apicurio.registry.auth.", "apicurio.auth.", 1)
    while name.startswith(NAMESPACE):
        name = name.removeprefix(NAMESPACE)
    return name


def _has_login(addresses: str) -> bool:
    return any("@" in one.partition("://")[2].partition("/")[0] for one in parse_list(addresses))
