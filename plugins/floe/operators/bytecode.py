"""Bytecode for the archive of the library: without it every new Python worker of a cluster compiles a hundred modules.

The same source gives the same bytes on every machine with the same Python, wherever floe is installed: a Connect
session refuses other bytes under a name that it knows.
"""

from __future__ import annotations

import marshal
from importlib.machinery import SourceFileLoader
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path
from types import CodeType

MARSHAL_VERSION = 2
"""Later ones write references where an object happens to be shared, so that no two processes agree."""

UNCHECKED_HASH = (0b01).to_bytes(4, "little")
"""PEP 552: valid for its source as it is. Both come in one archive, and where Python is another, the source is read."""


def bytecode(name: str, path: Path, source: bytes) -> bytes | None:
    """Return what belongs into the ``.pyc`` of a file that stands in the archive under ``name``; None if it cannot be."""
    code = SourceFileLoader(name, str(path)).get_code(name)
    if code is None:
        return None
    try:
        body = marshal.dumps(_moved(code, name), MARSHAL_VERSION)
    except ValueError:  # a constant that this version cannot write
        return None
    return MAGIC_NUMBER + UNCHECKED_HASH + source_hash(source) + body


def _moved(code: CodeType, name: str) -> CodeType:
    """Return the code as if it had been compiled from a file of this name."""
    consts = tuple(_moved(one, name) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_filename=name, co_consts=consts)
