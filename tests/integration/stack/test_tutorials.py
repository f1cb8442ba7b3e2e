"""The tutorials, done as their readers do them, on a local stack of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stack.jars import CACHE
from stack.local import Local
from stack.services.rest import Rest
from stack.settings import REPOSITORY, Settings, free_port
from tests.support.tutorials.page import Step, Verb, is_shown, steps
from tests.support.tutorials.shell import Shell, checkout

pytestmark = pytest.mark.full

PORTS = {"KAFKA_PORT": ":9092", "AIRFLOW_PORT": ":8080"}
"""As the pages have them."""
_RUN_WITHIN = 180
_TRIES = 3
"""Runs that a reader triggers: the first may begin before Airflow has read a file that was just changed."""


class Reader:
    """Does what a page says, in a folder that looks like the repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "floe"
        self.folder.mkdir()
        checkout(self.folder)
        names = ("KAFKA_PORT", "KAFKA_CONTROLLER_PORT", "AIRFLOW_PORT", "SCHEMA_REGISTRY_PORT", "S3_PORT")
        self.environment = {
            "FLOE_STATE": str(self.folder / ".floe"),
            "FLOE_JARS": str(CACHE),
            "FLOE_DAGS_FOLDER": str(self.folder / "dags"),
            **{name: str(free_port()) for name in names},
        }
        self._scratch = folder

    @property
    def rest(self) -> Rest:
        """Airflow's API, for what a reader does in its UI."""
        return Local(Settings.read(self.environment)).airflow.rest

    def read(self, page: str) -> None:
        """Do all that a page says."""
        shell = Shell(self.folder, self.environment, self._scratch)
        try:
            for step in steps(page, {text: f":{self.environment[name]}" for name, text in PORTS.items()}):
                self._do(step, shell)
        finally:
            shell.close()

    def _do(self, step: Step, shell: Shell) -> None:
        if step.verb is Verb.RUN:
            output = shell.run(step.text)
            assert step.shown is None or is_shown(step.shown, output), (
                f"line {step.line}: {step.shown}\nis not in\n{output}"
            )
        elif step.verb is Verb.SAVE:
            (self.folder / step.what).write_text(step.text, encoding="utf-8")
        elif step.verb is Verb.ADD:
            file = self.folder / step.what
            head, brace, tail = file.read_text(encoding="utf-8").partition('"config": {\n')
            file.write_text(head + brace + step.text + tail, encoding="utf-8")
        else:
            self._click(step.verb, step.what)

    def _click(self, verb: Verb, dag: str) -> None:
        rest = self.rest
        rest.wait_for_dag(dag)
        if verb is Verb.START:
            rest.unpause(dag)
        wanted = "failed" if verb is Verb.FAIL else "success"
        for _ in range(_TRIES if verb is Verb.TRIGGER else 1):
            is_scheduled = verb in (Verb.START, Verb.WAIT)
            run = rest.wait_for_scheduled_run(dag, seconds=_RUN_WITHIN) if is_scheduled else rest.trigger(dag)
            state = rest.wait_for_run(dag, run)
            if state == wanted:
                return
        pytest.fail(f"run {run} of {dag} is {state}: {rest.task_instances(dag, run)}")

    def stop(self) -> None:
        """End the stack."""
        subprocess.run(
            [sys.executable, "-m", "stack", "down"], cwd=REPOSITORY, env={**os.environ, **self.environment}, check=True
        )


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    one = Reader(tmp_path)
    try:
        yield one
    finally:
        one.stop()


def test_sinks_tutorials_work_with_another_address_and_login(reader: Reader) -> None:
    reader.read("start/pizzas.md")
    reader.read("start/events.md")


def test_first_connector_works_as_the_page_says(reader: Reader) -> None:
    reader.read("start/first-connector.md")
