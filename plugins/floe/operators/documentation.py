"""Where floe's documentation is: below an address that the operator gives, else in the folder ``docs`` of the repository.

Airflow's UI makes links of addresses in logs. floe itself is installed without its documentation, and knows no address of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

VARIABLE: Final = "FLOE_DOCS_URL"
"""The address of the folder ``docs``, such as ``https://git.example.com/data/floe/blob/main/docs``."""

_PAGE = re.compile(r"(?<![\w/.-])docs/([\w/-]+\.md)(#[\w-]+)?")


def address(environ: Mapping[str, str] | None = None) -> str | None:
    """Return the address, without a slash at its end; None where none is given, or one that is no address of HTTP."""
    given = (os.environ if environ is None else environ).get(VARIABLE, "").strip().rstrip("/")
    try:
        parts = urlsplit(given)
    except ValueError:
        return None
    is_plain = given.isprintable() and " " not in given and not parts.query and not parts.fragment
    is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    return given if is_plain and is_web else None


def linked(text: str) -> str:
    """Write the pages that a text names, such as ``docs/how-to/deploy.md``, as addresses, if there is one."""
    base = address()
    return text if base is None else _PAGE.sub(lambda found: f"{base}/{found[1]}{found[2] or ''}", text)


def explained(code: str) -> str:
    """Say where an error code is explained."""
    base = address()
    return f"See {code} in docs/troubleshooting.md." if base is None else f"See {base}/troubleshooting.md#{code}"


def markdown_link(page: str) -> str:
    """Return the Markdown of a page: a link, if there is an address."""
    base = address()
    return f"`docs/{page}`" if base is None else f"[docs/{page}]({base}/{page})"
