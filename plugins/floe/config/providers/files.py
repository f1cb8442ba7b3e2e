"""Values in files: Kafka's ``FileConfigProvider`` and ``DirectoryConfigProvider``."""

from collections.abc import Mapping
from dataclasses import dataclass

from floe.config.providers.base import ProviderContext, ValueMissing
from floe.config.providers.paths import ALLOWED_PATHS, AllowedPaths, read_text
from floe.config.worker.java_properties import MalformedProperties, parse_properties


@dataclass(frozen=True)
class FileProvider:
    """Gives the keys of properties files: ``${file:/run/secrets/kafka.properties:password}``."""

    allowed: AllowedPaths

    @classmethod
    def make(cls, params: Mapping[str, str], _: ProviderContext) -> "FileProvider":
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
    def make(cls, params: Mapping[str, str], _: ProviderContext) -> "DirectoryProvider":
        return cls(AllowedPaths.of(params.get(ALLOWED_PATHS, "")))

    def get(self, path: str, key: str) -> str:
        """Return the content of the file ``key`` in the folder ``path``."""
        if not key or "/" in key or key in (".", ".."):
            msg = f"{key!r} is no name of a file in {path!r}"
            raise ValueMissing(msg)
        return read_text(self.allowed.check(f"{path}/{key}" if path else "")).removesuffix("\n").removesuffix("\r")

    def is_secret(self, path: str, key: str) -> bool:
        return True
