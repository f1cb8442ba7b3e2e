"""Values of Airflow's connections and variables. Only a task of Airflow can look them up."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from floe.config.providers.base import Lookup, NamePattern, ProviderContext, ValueMissing
from floe.config.providers.env import PATTERN
from floe.config.secrets.deployment_key import CONN_ID

_NO_AIRFLOW = "only a task of Airflow has it"
_EXTRA = "extra."
_FIELDS = ("host", "port", "login", "password", "schema", "conn_type")
_PLAIN = ("host", "port", "schema", "conn_type")


@dataclass(frozen=True)
class ConnectionProvider:
    """Gives fields of connections: ``${conn:my_store:password}``, ``${conn:my_store:extra.region}``."""

    lookup: Lookup | None = field(repr=False)
    allowed: NamePattern

    @classmethod
    def make(cls, params: Mapping[str, str], context: ProviderContext) -> "ConnectionProvider":
        return cls(context.connection, NamePattern(params.get(PATTERN, "").strip()))

    def get(self, path: str, key: str) -> str:
        """Return the field ``key`` of the connection ``path``."""
        if not path:
            msg = "write ${provider:connection:field}"
            raise ValueMissing(msg)
        if path == CONN_ID:
            msg = f"the connection {path!r} contains floe's own key: no connector gets it"
            raise ValueMissing(msg)
        if key not in _FIELDS and not key.startswith(_EXTRA):
            msg = f"a connection has no field {key!r}: it has {', '.join(_FIELDS)} and {_EXTRA}<name>"
            raise ValueMissing(msg)
        self.allowed.check(path, "the connection", PATTERN)
        if self.lookup is None:
            msg = f"the connection {path!r}: {_NO_AIRFLOW}"
            raise ValueMissing(msg)
        value = self.lookup(path, key)
        if value is None:
            msg = f"the Airflow connection {path!r} does not exist, or has no {key}"
            raise ValueMissing(msg)
        return value

    def is_secret(self, path: str, key: str) -> bool:
        return key not in _PLAIN


@dataclass(frozen=True)
class VariableProvider:
    """Gives variables: ``${var:catalog_token}``."""

    lookup: Lookup | None = field(repr=False)
    allowed: NamePattern

    @classmethod
    def make(cls, params: Mapping[str, str], context: ProviderContext) -> "VariableProvider":
        return cls(context.variable, NamePattern(params.get(PATTERN, "").strip()))

    def get(self, path: str, key: str) -> str:
        """Return the variable ``key``."""
        if path:
            msg = "a variable has no path: write ${provider:name}"
            raise ValueMissing(msg)
        self.allowed.check(key, "the variable", PATTERN)
        if self.lookup is None:
            msg = f"the variable {key!r}: {_NO_AIRFLOW}"
            raise ValueMissing(msg)
        value = self.lookup(key, "")
        if value is None:
            msg = f"there is no Airflow variable {key!r}"
            raise ValueMissing(msg)
        return value

    def is_secret(self, path: str, key: str) -> bool:
        return True
