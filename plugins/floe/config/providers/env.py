"""Values of environment variables: Kafka's ``EnvVarConfigProvider``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from floe.config.providers.base import NamePattern, ProviderContext, ValueMissing
from floe.config.secrets.deployment_key import IN_ENVIRONMENT
from floe.config.secrets.detection import environment_settings, is_secret

PATTERN = "allowlist.pattern"
_AIRFLOWS = "AIRFLOW__"
_OF_SECRETS: Final = re.compile(r"(^|_)(auth|dsn|pat|pgpass|salt)$", re.IGNORECASE)
"""How names of variables with secrets end, beside what names of settings have in them."""


@dataclass(frozen=True)
class EnvProvider:
    """Gives variables, but never the deployment's key and never Airflow's own settings."""

    environ: Mapping[str, str] = field(repr=False)
    allowed: NamePattern

    @classmethod
    def make(cls, params: Mapping[str, str], context: ProviderContext) -> "EnvProvider":
        return cls(context.environ, NamePattern(params.get(PATTERN, "").strip()))

    def get(self, path: str, key: str) -> str:
        """Return the value of the variable ``key``."""
        if path:
            msg = "a variable has no path: write ${provider:NAME}"
            raise ValueMissing(msg)
        if key in IN_ENVIRONMENT or key.upper().startswith(_AIRFLOWS):
            msg = f"the environment variable {key} is Airflow's or floe's own: no connector gets it"
            raise ValueMissing(msg)
        self.allowed.check(key, "the environment variable", PATTERN)
        value = self.environ.get(key)
        if value is None:
            msg = f"there is no environment variable {key!r}: set it for all of Airflow's processes"
            raise ValueMissing(msg)
        return value

    def is_secret(self, path: str, key: str) -> bool:
        return bool(_OF_SECRETS.search(key)) or any(is_secret(name) for name in environment_settings({key: ""}))
