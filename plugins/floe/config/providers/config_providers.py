"""The configuration providers: what ``${airflow:…}``, ``${env:…}``, ``${file:…}`` and ``${dir:…}`` stand for."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from floe.config.keys.values import parse_list
from floe.config.providers.base import Lookup, NamePattern, ProviderClass, ProviderContext, ValueMissing
from floe.config.secrets.deployment_key import CONN_ID, IN_ENVIRONMENT
from floe.config.secrets.detection import environment_settings, is_secret
from floe.config.worker_file import MalformedProperties, parse_properties

# Values of Airflow's connections and variables. Only a task of Airflow can look them up.


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
    def make(cls, params: Mapping[str, str], context: ProviderContext) -> ConnectionProvider:
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
    def make(cls, params: Mapping[str, str], context: ProviderContext) -> VariableProvider:
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


# Values of environment variables: Kafka's ``EnvVarConfigProvider``.


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
    def make(cls, params: Mapping[str, str], context: ProviderContext) -> EnvProvider:
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


# Values in files: Kafka's ``FileConfigProvider`` and ``DirectoryConfigProvider``.


@dataclass(frozen=True)
class FileProvider:
    """Gives the keys of properties files: ``${file:/run/secrets/kafka.properties:password}``."""

    allowed: AllowedPaths

    @classmethod
    def make(cls, params: Mapping[str, str], _: ProviderContext) -> FileProvider:
        return cls(AllowedPaths.of(params.get(ALLOWED_PATHS, "")))

    def get(self, path: str, key: str) -> str:
        """Return the value of ``key`` in the file ``path``."""
        try:
            found = parse_properties(read_text(self.allowed.check(path)))
        except MalformedProperties as error:
            msg = f"{path}: {error}"
            raise ValueMissing(msg) from None
        if key not in found:
            msg = f"{path} has no key {key!r}"
            raise ValueMissing(msg)
        return found[key]

    def is_secret(self, path: str, key: str) -> bool:
        return True


@dataclass(frozen=True)
class DirectoryProvider:
    """Gives the contents of files, without their last line end: ``${dir:/run/secrets:kafka-password}``."""

    allowed: AllowedPaths

    @classmethod
    def make(cls, params: Mapping[str, str], _: ProviderContext) -> DirectoryProvider:
        return cls(AllowedPaths.of(params.get(ALLOWED_PATHS, "")))

    def get(self, path: str, key: str) -> str:
        """Return the content of the file ``key`` in the folder ``path``."""
        if not key or "/" in key or key in (".", ".."):
            msg = f"{key!r} is no name of a file in {path!r}"
            raise ValueMissing(msg)
        return read_text(self.allowed.check(f"{path}/{key}" if path else "")).removesuffix("\n").removesuffix("\r")

    def is_secret(self, path: str, key: str) -> bool:
        return True


# Files that providers may read: below the operator's folders, and of a bounded size.


ALLOWED_PATHS = "allowed.paths"
MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class AllowedPaths:
    """Folders and files; none of them means that every path is allowed, as in Kafka."""

    paths: tuple[Path, ...] = ()

    @classmethod
    def of(cls, text: str) -> AllowedPaths:
        """Read ``allowed.paths``: absolute paths with commas between. Raises ValueError for others."""
        found = tuple(Path(os.path.normpath(part)) for part in parse_list(text))
        for path in found:
            if not path.is_absolute():
                msg = f"{ALLOWED_PATHS} has {str(path)!r}, which is no absolute path"
                raise ValueError(msg)
        return cls(found)

    def check(self, path: str) -> Path:
        """Return the path. Raises ValueMissing for one that is not below an allowed path, also behind symbolic links."""
        if not path or not Path(path).is_absolute() or "\0" in path:
            msg = f"{path!r} is no absolute path"
            raise ValueMissing(msg)
        normal = Path(os.path.normpath(path))
        real = Path(os.path.realpath(normal))
        if self.paths and not (_is_below(normal, self.paths) and _is_below(real, self._real)):
            msg = f"{path} is not below a path that the provider may read ({ALLOWED_PATHS})"
            raise ValueMissing(msg)
        return normal

    @property
    def _real(self) -> tuple[Path, ...]:
        return tuple(Path(os.path.realpath(path)) for path in self.paths)


def read_text(path: Path) -> str:
    """Read a file in UTF-8. Raises ValueMissing, without anything of its content."""
    try:
        # opening a pipe this way does not wait for its other end
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as stream:  # noqa: PTH123 - a path is opened above
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                msg = f"{path} is no file"
                raise ValueMissing(msg)
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror or error}"
        raise ValueMissing(msg) from None
    if len(content) > MAX_BYTES:
        msg = f"{path} has more than {MAX_BYTES} bytes"
        raise ValueMissing(msg)
    try:
        return content.decode()
    except UnicodeDecodeError:
        msg = f"{path} is not in UTF-8"
        raise ValueMissing(msg) from None  # the cause would carry the content


def _is_below(path: Path, folders: tuple[Path, ...]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


# The config providers that floe has, by the class that a worker file names.


_KAFKA: Final = "org.apache.kafka.common.config.provider."

PROVIDERS: Final[dict[str, ProviderClass]] = {
    f"{_KAFKA}EnvVarConfigProvider": ProviderClass("env", PATTERN, EnvProvider.make),
    f"{_KAFKA}FileConfigProvider": ProviderClass("file", ALLOWED_PATHS, FileProvider.make, needs_param=True),
    f"{_KAFKA}DirectoryConfigProvider": ProviderClass("dir", ALLOWED_PATHS, DirectoryProvider.make, needs_param=True),
    "floe.AirflowConnectionProvider": ProviderClass("conn", PATTERN, ConnectionProvider.make),
    "floe.AirflowVariableProvider": ProviderClass("var", PATTERN, VariableProvider.make),
}
"""A new provider needs a line here."""
