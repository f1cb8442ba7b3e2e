"""The example distribution of ``docs/``, installed as its users install theirs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from floe.config import extensions

SOURCE = Path(__file__).parents[2] / "docs" / "examples" / "extension"
NAME = "floe-example"
USES: dict[str, str | None] = {
    "value.converter": "LineConverter",
    "value.converter.schemas.enable": None,
    "transforms": "steer,label",
    "transforms.steer.type": "Steer",
    "transforms.steer.predicate": "p",
    "transforms.label.type": "example.Label",
    "predicates": "p",
    "predicates.p.type": "HasField",
    "predicates.p.name": "do",
}
"""The keys of a connector that uses its converter, two transforms and the condition."""


@pytest.fixture(scope="session")
def installed_example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the example is installed in, with its metadata."""
    folder = tmp_path_factory.mktemp("extension")
    shutil.copytree(SOURCE, folder / "source", ignore=shutil.ignore_patterns("__pycache__"))  # a build writes into it
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-index",
        "--no-deps",
    ]
    subprocess.run(
        [*install, "--no-build-isolation", "--target", str(folder / "path"), str(folder / "source")],
        check=True,
        timeout=300,
    )
    return folder / "path"


@pytest.fixture
def listed_example(installed_example: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, on this process's path and in the operator's list."""
    monkeypatch.syspath_prepend(str(installed_example))
    list_extensions(monkeypatch, *filter(None, os.environ.get(extensions.VARIABLE, "").split(",")), NAME)
    return installed_example


@pytest.fixture
def only_example(listed_example: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, beside no other: others may have classes of the same simple names."""
    list_extensions(monkeypatch, NAME)
    return listed_example


def list_extensions(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """List distributions, as the operator does, in a process that has looked none of them up."""
    monkeypatch.setenv(extensions.VARIABLE, ",".join(names))
    for known in (extensions._declared, extensions._distribution, extensions._load):
        known.cache_clear()
