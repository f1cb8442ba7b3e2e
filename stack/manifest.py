"""``python -m stack.manifest`` writes ``plugins/floe/manifest.txt``: the modules that an installation of floe has.

Run it when a module was added, moved or removed; a test compares the manifest with the tree.
"""

import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
MANIFEST = REPOSITORY / "plugins" / "floe" / "manifest.txt"
PACKAGES = (REPOSITORY / "plugins" / "floe", REPOSITORY / "spark_jobs" / "floe_job")


def manifest() -> str:
    """Return the manifest of the tree as it is: a module a line."""
    names = [path.relative_to(package.parent).as_posix() for package in PACKAGES for path in package.rglob("*.py")]
    return "".join(f"{name}\n" for name in sorted(names))


def main() -> int:
    """Write the manifest."""
    MANIFEST.write_text(manifest(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
