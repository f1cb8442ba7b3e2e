"""Print what floe requires, a line each, for an image that is built in layers: dependencies first, floe itself last.

python dependencies.py pyproject.toml [WORD …]: those of all extras too, without names that begin with one of the words.
"""

import sys
import tomllib
from pathlib import Path


def dependencies(project: Path, without: tuple[str, ...]) -> list[str]:
    """Return the requirements of a project and of its extras."""
    fields = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    extras = (one for found in fields["optional-dependencies"].values() for one in found)
    found = dict.fromkeys([*fields["dependencies"], *extras])
    return [one for one in found if not one.startswith((fields["name"], *without))]


if __name__ == "__main__":
    print("\n".join(dependencies(Path(sys.argv[1]), tuple(sys.argv[2:]))))
