"""axe-core, the checker of pages for people who hear or tab them, fetched by npm into the repository's cache."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

from tests.support.repository import ROOT

VERSION = "4.10.3"
CACHE = ROOT / ".floe" / "cache" / f"axe-core-{VERSION}"
TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")


def axe_source() -> str | None:
    """Return its source; None where it can be neither found nor fetched."""
    file = CACHE / "axe.min.js"
    if not file.exists() and not _fetch(file):
        return None
    return file.read_text(encoding="utf-8")


def _fetch(file: Path) -> bool:
    npm = shutil.which("npm")
    if npm is None:
        return False
    CACHE.mkdir(parents=True, exist_ok=True)
    command = [npm, "pack", f"axe-core@{VERSION}", "--silent"]
    done = subprocess.run(command, cwd=CACHE, capture_output=True, text=True, timeout=120, check=False)
    packed = next(CACHE.glob("*.tgz"), None)
    if done.returncode or packed is None:
        return False
    with tarfile.open(packed) as archive:
        member = archive.extractfile("package/axe.min.js")
        if member is None:
            return False
        file.write_bytes(member.read())
    packed.unlink()
    return True


def findings(page: Any, source: str) -> list[str]:
    """Return what axe finds on the page as it is now, a line each."""
    page.evaluate(source)
    options = {"runOnly": {"type": "tag", "values": list(TAGS)}, "resultTypes": ["violations"]}
    found = page.evaluate("options => axe.run(document, options)", options)["violations"]
    return [
        f"{one['id']}: {node['html'][:160]} ({(node.get('failureSummary') or '').splitlines()[-1:]})"
        for one in found
        for node in one["nodes"]
    ]
