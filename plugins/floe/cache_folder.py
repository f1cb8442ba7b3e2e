"""The folder in which floe keeps what is slow to make and can be made again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "FLOE_CACHE_DIR"
"""Names the folder; ``~/.cache/floe`` unless set, none if set to nothing."""


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the folder, made if need be; None where none is wanted.

    Raises OSError where it cannot be had or where others may write: what is kept in it is code.
    """
    given = environ.get(VARIABLE)
    if given == "":
        return None
    folder = Path(given or Path(environ.get("XDG_CACHE_HOME") or "~/.cache", "floe")).expanduser()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    stat = folder.stat()
    if stat.st_uid != os.getuid() or stat.st_mode & 0o022:
        msg = f"{folder} belongs to, or can be written by, another user; set {VARIABLE}"
        raise PermissionError(msg)
    return folder
