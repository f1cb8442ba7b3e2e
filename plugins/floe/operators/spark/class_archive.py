"""An archive of the classes that Spark's driver loads: the next JVM maps it into memory instead of loading them.

A run that finds none has its own JVM write one, once for this Java and these jars; it appears by a rename, when it is
whole. What cannot be made is done without: a JVM ignores an archive that does not fit.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from floe.cache_folder import cache_folder
from floe.operators.spark.spark_home import spark_home

log = logging.getLogger(__name__)

KEPT = 3
"""Archives, of about 60 MB each, that stay in the folder: of other Javas, or of other Sparks."""

USE, MAKE = "-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit"
QUIET = "-Xlog:cds=off,cds+dynamic=off"


@dataclass(frozen=True)
class ClassArchive:
    """The archive of one Java and one set of jars; ``is_draft``: the JVM that is about to start writes it."""

    path: Path
    is_draft: bool = False

    @property
    def option(self) -> str:
        """The option for the JVM, as Spark's launcher splits a line of them."""
        return f'"{MAKE if self.is_draft else USE}={self.path}" {QUIET}'


@contextmanager
def class_archive(environ: Mapping[str, str], options: str) -> Iterator[ClassArchive | None]:
    """Find the archive for a JVM that is started with these options, or have it made; None where that cannot be.

    Where several start at once, one makes it. The draft is kept if the block ends well.
    """
    try:
        place = _place(environ, options)
    except OSError as error:
        log.info("no archive of Spark's classes, so the JVM starts slower: %s", error)
        place = None
    if place is None:
        yield None
        return
    if place.exists():
        yield ClassArchive(place)
        return
    with _alone(place) as alone:
        if not alone or _was_given_up(place):
            yield None
            return
        draft = place.with_suffix(".draft")
        draft.unlink(missing_ok=True)
        try:
            log.info("this run archives Spark's classes in %s; the next ones start faster", place)
            yield ClassArchive(draft, is_draft=True)
            _keep(draft, place)
        finally:
            draft.unlink(missing_ok=True)


def _place(environ: Mapping[str, str], options: str) -> Path | None:
    """Return the archive's path, there or not. Raises OSError where the JVM, its jars or a safe folder is not found."""
    folder = cache_folder(environ)
    if folder is None:
        return None
    java = shutil.which("java", path=str(Path(environ["JAVA_HOME"], "bin")) if environ.get("JAVA_HOME") else None)
    if java is None:
        msg = "there is no java"
        raise FileNotFoundError(msg)
    for name in _folders_on_class_path(environ):
        if name.is_dir() and any(name.iterdir()):
            msg = f"{name} is on the class path and not empty, which a JVM cannot archive; see docs/how-to/deploy.md"
            raise OSError(msg)
    digest = hashlib.sha256(f"{options}\n{_version(Path(java).resolve())}".encode())
    for jar in sorted((spark_home(environ) / "jars").iterdir()):
        stat = jar.stat()
        digest.update(f"\n{jar}\0{stat.st_size}\0{stat.st_mtime_ns}".encode())
    return folder / f"spark-{digest.hexdigest()[:16]}.jsa"


def _version(java: Path) -> str:
    """Identify this Java, without starting it."""
    release = java.parent.parent / "release"
    stat = java.stat()
    return f"{java} {stat.st_size} {stat.st_mtime_ns} {release.read_text() if release.is_file() else ''}"


def _folders_on_class_path(environ: Mapping[str, str]) -> Iterator[Path]:
    """Name the folders that Spark's launcher puts before its jars."""
    yield Path(environ.get("SPARK_CONF_DIR") or spark_home(environ) / "conf")
    yield from (Path(environ[name]) for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR") if environ.get(name))


@contextmanager
def _alone(place: Path) -> Iterator[bool]:
    """Return whether no other process makes this archive now; one that dies gives way."""
    from filelock import FileLock, Timeout

    lock = FileLock(place.with_suffix(".lock"), timeout=0)
    try:
        lock.acquire()
    except Timeout:
        yield False
        return
    try:
        yield not place.exists()
    finally:
        lock.release()


def _was_given_up(place: Path) -> bool:
    return place.with_suffix(".none").exists()


def _keep(draft: Path, place: Path) -> None:
    """Put the draft in its place; where the JVM wrote none, remember not to try again."""
    if not draft.is_file():
        log.warning("the JVM wrote no archive of its classes; it is not tried again while %s.none is there", place.stem)
        place.with_suffix(".none").touch()
        return
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    draft.replace(place)
    with suppress(OSError):
        for old in sorted(place.parent.glob("spark-*.jsa"), key=lambda path: path.stat().st_mtime)[:-KEPT]:
            old.unlink()
