"""The config provider of stored secrets: ``${floe:<connector>:<key>}`` in a connector that the REST API made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from floe.config.properties import Properties
from floe.config.providers.allow_list import Allowed, AllowList
from floe.config.providers.base import Lookup, ProviderClass, ProviderContext, ValueMissing
from floe.config.stored.operator_lists import OperatorLists
from floe.config.stored.stored_connector import SECRETS, secrets_from_text

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
