"""The worker file: where it is, how large it may be, and when it is read again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from floe.config import worker_file as module
from floe.config.worker_file import MAX_BYTES, NO_FILE, VARIABLE, WorkerFile, worker_file


def read(path: object) -> WorkerFile:
    return worker_file({VARIABLE: str(path)})


def test_without_the_variable_there_is_no_file():
    assert worker_file({}) is NO_FILE and worker_file({VARIABLE: " "}) is NO_FILE


def test_a_file_is_read_as_connect_reads_it(tmp_path: Path):
    (tmp_path / "w.properties").write_bytes(b"a = b \nc=\xe9\n")
    found = read(tmp_path / "w.properties")
    assert found.keys == {"a": "b", "c": "é"} and found.problems == ()


def test_an_unchanged_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "w.properties"
    path.write_text("a=1")
    first = read(path)
    monkeypatch.setattr(module, "_content", lambda *_: pytest.fail("it was read again"))
    assert read(path) is first


def test_a_changed_file_is_read_again(tmp_path: Path):
    path = tmp_path / "w.properties"
    path.write_text("a=1")
    assert read(path).keys == {"a": "1"}
    path.write_text("a=2")
    os.utime(path, ns=(1, 1))
    assert read(path).keys == {"a": "2"}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "it cannot be read: No such file"),
        (b"a=\\u1", "line 1: "),
        (b"#" * (MAX_BYTES + 1), "more than 1048576 bytes"),
        (b"".join(b"k%d=1\n" % n for n in range(5001)), "it has 5001 keys"),
    ],
)
def test_an_unusable_file_is_a_problem(tmp_path: Path, content: bytes | None, why: str):
    path = tmp_path / "w.properties"
    if content is not None:
        path.write_bytes(content)
    (problem,) = read(path).problems
    assert str(path) in problem and VARIABLE in problem and why in problem


def test_a_folder_is_no_worker_file(tmp_path: Path):
    assert "it is no file" in read(tmp_path).problems[0]
