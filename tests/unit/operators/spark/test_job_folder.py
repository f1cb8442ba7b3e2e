"""Job folders: private, locked by their task, and removed by the next one where a task was killed."""

import multiprocessing
import os
import signal
import stat
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from floe.operators.spark.job_folder import MARKER, PREFIX, job_folder, remove_abandoned


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def hold(answer: Connection, temporary: Path) -> None:
    """Be a task: write a job file, say where, and wait to be killed."""
    tempfile.tempdir = str(temporary)
    with job_folder() as folder:
        (folder / "order.json").write_text("secret")
        answer.send(folder)
        signal.pause()


def test_job_folder_is_private_and_goes_with_its_task(temporary: Path) -> None:
    with job_folder() as folder:
        assert folder.parent == temporary
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "order.json").write_text("x")
    assert not list(temporary.iterdir())


def test_folder_that_another_task_removes_before_it_is_locked_is_made_again(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, made = tempfile.mkdtemp, []

    def removed_once(**more: str) -> str:
        made.append(make(**more))
        if len(made) == 1:
            assert remove_abandoned() == 1, "it is empty, and nobody has locked it yet"
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", removed_once)
    with job_folder() as folder:
        assert [str(folder)] == made[1:] and (folder / MARKER).exists()


def test_killed_task_leaves_nothing_behind_for_long(temporary: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    mine, its = spawn.Pipe()
    task = spawn.Process(target=hold, args=(its, temporary))
    task.start()
    folder: Path = mine.recv()
    assert remove_abandoned() == 0, "it is in use"
    assert (folder / "order.json").exists()
    assert task.pid is not None
    os.kill(task.pid, signal.SIGKILL)
    task.join()
    assert (folder / "order.json").exists(), "what a kill leaves"
    assert remove_abandoned() == 1
    assert not list(temporary.iterdir())


def test_nothing_but_floes_own_folders_is_removed(temporary: Path) -> None:
    mine = temporary / "mine"
    mine.mkdir(mode=0o700)
    (mine / MARKER).touch()
    (mine / "kept").touch()
    (temporary / f"{PREFIX}link").symlink_to(mine, target_is_directory=True)
    (temporary / f"{PREFIX}file").touch()
    unmarked = temporary / f"{PREFIX}unmarked"
    unmarked.mkdir(mode=0o700)
    (unmarked / "data").touch()
    shared = temporary / f"{PREFIX}shared"
    shared.mkdir()
    shared.chmod(0o770)
    (shared / MARKER).touch()
    before = sorted(temporary.rglob("*"))
    assert remove_abandoned() == 0
    assert sorted(temporary.rglob("*")) == before


def test_links_inside_an_abandoned_folder_are_not_followed(temporary: Path) -> None:
    outside = temporary / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    abandoned = temporary / f"{PREFIX}abandoned"
    abandoned.mkdir(mode=0o700)
    (abandoned / MARKER).touch()
    (abandoned / "link").symlink_to(outside, target_is_directory=True)
    assert remove_abandoned() == 1
    assert (outside / "kept").exists()


def test_empty_folder_of_a_killed_task_is_removed(temporary: Path) -> None:
    (temporary / f"{PREFIX}empty").mkdir(mode=0o700)
    assert remove_abandoned() == 1
