"""Files that providers may read: below the operator's folders, and of a bounded size."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from floe.config.keys.values import parse_list
from floe.config.providers.base import ValueMissing

ALLOWED_PATHS = "allowed.paths"
MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class AllowedPaths:
    """Folders and files; none of them means that every path is allowed, as in Kafka."""

    paths: tuple[Path, ...] = ()

    @classmethod
    def of(cls, text: str) -> "AllowedPaths":
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
