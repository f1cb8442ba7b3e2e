"""What a worker of Spark that is new loads for one task. Run as a program, it is that worker: it takes a pickled task and its
records, and prints the modules that it loaded.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from floe_job.contract.task import Task

ROOT = Path(__file__).resolve().parents[3]


def loaded_by(task: Task, values: Sequence[bytes | None], folder: Path) -> frozenset[str]:
    """Return the modules that a new worker loads for a task, beside those that its daemon has."""
    given = folder / "task.pickle"
    given.write_bytes(pickle.dumps((pickle.dumps(task), list(values))))
    path = os.pathsep.join([str(ROOT / "plugins"), str(ROOT / "spark_jobs"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, __file__, str(given)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return frozenset(found)


class GivenBatch:
    """What a reader hands out."""

    def __init__(self, given: Sequence[bytes | None]) -> None:
        import numpy as np

        from tests.support.kafka.messages import GivenMessages, Message, values_of

        self.offsets, self.values = np.arange(len(given)), values_of(given)
        self.messages = GivenMessages([Message(offset) for offset in range(len(given))])
        self.nbytes = sum(len(value or b"") for value in given)


class GivenReader:
    """Reads given values."""

    def __init__(self, given: Sequence[bytes | None]) -> None:
        self._given = given

    def read(self, *_: object) -> Iterator[GivenBatch]:
        yield GivenBatch(self._given)

    def close(self) -> None: ...


def _main(given: Path) -> None:
    # as a Connect server has it, outside of any package: without floe's own modules
    spec = importlib.util.spec_from_file_location("daemon", ROOT / "spark_jobs/floe_job/runtime/worker_daemon.py")
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))

    before = set(sys.modules)
    pickled, values = pickle.loads(given.read_bytes())  # noqa: S301 - written above
    from floe_job.task import read_task

    read_task.RangeReader.open = lambda *_: GivenReader(values)  # type: ignore[assignment,method-assign,return-value]
    result = read_task.run_task(pickle.loads(pickled))  # noqa: S301
    assert result.failure is None, result.failure
    assert result.is_complete and not result.dead_letters.dead, result
    print(json.dumps(sorted(name for name in set(sys.modules) - before if not name.startswith("tests"))))


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
