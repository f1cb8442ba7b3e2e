"""floe refuses to load beside modules of another version."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stack.manifest import MANIFEST, manifest

ROOT = Path(__file__).parents[2]
OLD = ("floe/offsets/plan.py", "floe/commit/landing.py", "floe/catalogs/catalog.py", "floe/operators/run.py")
OLD_JOB = ("floe_job/slices/writer.py", "floe_job/letters/letterbox.py", "floe_job/needs.py")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that floe was copied into, as into an Airflow."""
    for name in ("plugins", "spark_jobs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def imported(place: Path, module: str = "floe", **environ: str) -> str:
    """Import a module of the copy in a process of its own; return what it printed, or its error."""
    command = [sys.executable, "-c", f"import {module}; print('loaded')"]
    path = f"{place / 'plugins'}:{place / 'spark_jobs'}"
    done = subprocess.run(command, env={"PYTHONPATH": path, **environ}, capture_output=True, text=True, check=False)
    return done.stdout or done.stderr.strip().splitlines()[-1]


def put(place: Path, folder: str, *names: str) -> None:
    for name in names:
        path = place / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('"""Of an older version."""\n')


def test_manifest_names_modules_of_tree() -> None:
    assert MANIFEST.read_text(encoding="utf-8") == manifest(), "write it again: python -m stack.manifest"


def test_clean_copy_loads(place: Path) -> None:
    assert imported(place) == "loaded\n" and imported(place, "floe_job") == "loaded\n"


def test_copy_over_old_modules_is_refused_with_their_names(place: Path) -> None:
    put(place, "plugins", *OLD)
    put(place, "spark_jobs", *OLD_JOB)
    error = imported(place, "floe.config")
    assert error.startswith("ImportError: modules of different floe versions are beside each other: ")
    assert all(f"{name} is of another version" in error for name in (*OLD, *OLD_JOB))
    assert "Nothing was loaded." in error and "docs/how-to/upgrade.md" in error and error.endswith("See FLOE-101.")


def test_many_old_modules_are_counted(place: Path) -> None:
    put(place, "plugins", *(f"floe/offsets/old_{i}.py" for i in range(30)))
    assert "; and 20 more. Nothing was loaded." in imported(place)


def test_spark_jobs_of_other_version_are_refused(place: Path) -> None:
    init = place / "spark_jobs" / "floe_job" / "__init__.py"
    init.write_text(re.sub(r'"\d+\.\d+\.\d+"', '"0.0.9"', init.read_text()))
    assert "floe_job is of version 0.0.9, " in imported(place)


def test_spark_jobs_elsewhere_are_looked_at(place: Path) -> None:
    (place / "spark_jobs").rename(place / "jobs")
    put(place, "jobs", *OLD_JOB)
    assert imported(place) == "loaded\n"
    assert "floe_job/needs.py is of another version" in imported(place, FLOE_SPARK_JOBS_DIR=str(place / "jobs"))


def test_copy_that_lacks_module_is_refused(place: Path) -> None:
    (place / "plugins" / "floe" / "crash_points.py").unlink()
    assert "crash_points.py is missing" in imported(place)


def test_folders_of_bytecode_alone_are_passed(place: Path) -> None:
    put(place, "plugins", "floe/offsets/__pycache__/plan.cpython-311.pyc")
    assert imported(place) == "loaded\n"


def test_checkout_of_floe_is_not_checked(place: Path) -> None:
    put(place, "plugins", *OLD)
    put(place, ".", ".git/HEAD", "stack/manifest.py")
    assert imported(place) == "loaded\n"
