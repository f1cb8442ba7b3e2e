"""What the scheduler imports for the tasks that are forked from it."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from floe.operators import preload


class Job:
    """What Airflow's scheduler starts as."""


@pytest.mark.parametrize(
    ("argv", "component", "variable", "expected"),
    [
        (["airflow", "scheduler", "--skip-serve-logs"], Job(), None, True),
        (["airflow", "scheduler"], Job(), "false", False),
        (["airflow", "triggerer"], Job(), None, False),
        (["airflow", "scheduler"], SimpleNamespace(), None, False),
    ],
)
def test_only_the_scheduler_imports_ahead(
    argv: list[str], component: object, variable: str | None, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(sys, "argv", argv)
    monkeypatch.setattr(preload, "import_module", asked.append)
    if variable is not None:
        monkeypatch.setenv(preload.VARIABLE, variable)
    preload.on_starting(component)
    assert bool(asked) is expected


def test_a_library_that_is_missing_keeps_nothing_from_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(preload, "import_module", fail)
    preload.preload()


def test_imports_are_searched_for_garbage_once_for_all_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(preload, "import_module", done.append)
    monkeypatch.setattr(preload.gc, "collect", lambda: done.append("collected"))
    preload.preload()
    assert done.count("collected") == 1
    assert done[-1] == "collected"
