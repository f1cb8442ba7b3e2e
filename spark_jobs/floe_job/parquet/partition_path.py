"""A partition's part of a file's location. Readers go by the metadata: it is for eyes only."""

from __future__ import annotations

import re
from hashlib import blake2b

LONGEST_PART = 150
"""Bytes. File systems take names of 255, and some location providers put the file's own name (70) behind it."""
LONGEST_PATH = 500
"""Bytes. S3 takes keys of 1024, the table's location among them."""


def bounded(path: str) -> str:
    """Shorten ``name=value/name=value``, quoted, to what every store takes; different paths stay different."""
    parts = "/".join(_cut(part) for part in path.split("/"))
    return parts if len(parts) <= LONGEST_PATH else _cut(path.replace("/", "-"))


def _cut(part: str) -> str:
    """End a long part with its hash."""
    if len(part) <= LONGEST_PART:
        return part
    digest = blake2b(part.encode(), digest_size=8).hexdigest()
    start = part[: LONGEST_PART - len(digest) - 1]
    return f"{re.sub('%[0-9A-F]?$', '', start)}-{digest}"
