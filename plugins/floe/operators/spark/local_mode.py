"""What makes a job start and end quickly where its Spark is a process on this machine, for that one job."""

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
from floe.operators.spark.spark_home import SUBMIT, home_of_submit, spark_home

DAEMON, DAEMON_SOCKET = "spark.python.daemon.module", "FLOE_DAEMON_SOCKET"

CONF = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.authenticate": "true",
    DAEMON: "floe_job.runtime.prefork_daemon",
    "spark.floe.halt": "true",
}
"""Only this machine takes part, workers are forked from the driver, and no orderly shutdown is needed.

Of its users, none reaches the driver: to authenticate, Spark makes a secret in memory.
"""

JAVA_OPTIONS = "-XX:+IgnoreUnrecognizedVMOptions -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xshare:auto"
"""The JVM of such a job carries messages: it is too short-lived for the code of its second compiler to pay."""

COLLECTOR = "-XX:+UseSerialGC"
WITHOUT_PANDAS = "FLOE_WITHOUT_PANDAS"
OPTIONS, LAUNCHER_OPTIONS, DRIVER_OPTIONS = "SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS", "spark.driver.extraJavaOptions"
TEMPORARY, TEMPORARY_CONF = "SPARK_LOCAL_DIRS", "spark.local.dir"

Settings = tuple[dict[str, str], dict[str, str]]


@contextmanager
def settings(
    folder: Path, conf: Mapping[str, str], env: Mapping[str, str], binary: str = SUBMIT, *, has_own_code: bool = True
) -> Iterator[Settings]:
    """Yield the conf and the whole environment of a local job. What the user has set in either takes precedence.

    ``has_own_code``: workers run classes of the user's, which may make data frames.

    Java's options go where Spark's launcher puts those of the user behind them. Spark's files go into ``folder``, which
    is the job's own, so that a JVM which is halted leaves nothing behind.
    """
    given = " ".join(filter(None, [env.get(OPTIONS), conf.get(DRIVER_OPTIONS)]))
    options = JAVA_OPTIONS if "GC" in given else f"{JAVA_OPTIONS} {COLLECTOR}"
    with class_archive(env, f"{options} {given}") as archive:
        conf = {**CONF, **conf}
        if archive is not None and archive.is_draft:
            conf["spark.floe.halt"] = "false"  # a JVM archives its classes when it ends in order
        java = [options, f'"-Djava.io.tmpdir={folder}"', archive.option if archive else "", env.get(OPTIONS, "")]
        home = home_of_submit(env, binary)
        made = {LAUNCHER_OPTIONS: options, **env, **home, OPTIONS: " ".join(filter(None, java))}
        if _takes_fork(conf):
            made[DAEMON_SOCKET] = str(folder / "daemon.sock")
        if not has_own_code:
            made[WITHOUT_PANDAS] = "true"
        if TEMPORARY not in env and TEMPORARY_CONF not in conf:
            made[TEMPORARY] = str(folder)
        yield conf, made


def _takes_fork(conf: Mapping[str, str]) -> bool:
    """Return whether the driver's fork can be the workers' daemon: it began with the driver's environment."""
    is_ours = conf[DAEMON] == CONF[DAEMON] and conf.get("spark.python.use.daemon", "true") == "true"
    return is_ours and not any(key.startswith("spark.executorEnv.") for key in conf)


# An archive of the classes that Spark's driver loads: the next JVM maps it into memory instead of loading them.
#
# A run that finds none has its own JVM write one, once for this Java and these jars; it appears by a rename, when it
# is whole. What cannot be made is done without: a JVM ignores an archive that does not fit.


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
