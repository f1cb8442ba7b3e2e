"""What `make setup` installs: what floe runs on, and the store or the tools of developers if asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from stack import venv


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The requirement files of each installation, in an environment that is there."""
    found: list[list[str]] = []

    def run(command: list[str], _: str) -> None:
        if "pip" in command:
            found.append(
                [Path(word).name for word, before in zip(command[1:], command, strict=False) if before == "-r"]
            )

    monkeypatch.setattr(venv, "_run", run)
    monkeypatch.setattr(venv, "require_java", lambda: None)
    monkeypatch.setattr(venv, "STAMP", tmp_path / "stamp.json")
    monkeypatch.setattr(venv, "PYTHON", Path(__file__))
    return found


RUNTIME = ["requirements.txt"]


def test_store_is_installed_when_asked_for_and_once(installed: list[list[str]]) -> None:
    venv.set_up()
    venv.set_up(store=True)
    venv.set_up(store=True)
    venv.set_up()
    assert installed == [RUNTIME, [*RUNTIME, "requirements-dev-store.txt"]]


def test_development_contains_the_store(installed: list[list[str]]) -> None:
    venv.set_up(development=True)
    venv.set_up(store=True)
    venv.set_up()
    assert installed == [["requirements-dev.txt"]]
    assert "-r requirements-dev-store.txt" in venv.DEVELOPMENT.read_text().splitlines()
