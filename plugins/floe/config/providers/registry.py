"""The config providers that floe has, by the class that a worker file names."""

from typing import Final

from floe.config.providers.airflow import ConnectionProvider, VariableProvider
from floe.config.providers.base import ProviderClass
from floe.config.providers.env import PATTERN, EnvProvider
from floe.config.providers.files import DirectoryProvider, FileProvider
from floe.config.providers.paths import ALLOWED_PATHS

_KAFKA: Final = "org.apache.kafka.common.config.provider."

PROVIDERS: Final[dict[str, ProviderClass]] = {
    f"{_KAFKA}EnvVarConfigProvider": ProviderClass("env", PATTERN, EnvProvider.make),
    f"{_KAFKA}FileConfigProvider": ProviderClass("file", ALLOWED_PATHS, FileProvider.make, needs_param=True),
    f"{_KAFKA}DirectoryConfigProvider": ProviderClass("dir", ALLOWED_PATHS, DirectoryProvider.make, needs_param=True),
    "floe.AirflowConnectionProvider": ProviderClass("conn", PATTERN, ConnectionProvider.make),
    "floe.AirflowVariableProvider": ProviderClass("var", PATTERN, VariableProvider.make),
}
"""A new provider needs a line here."""
