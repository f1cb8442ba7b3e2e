"""Jars from Maven Central, fetched by the resolver that Spark contains (Ivy), without Maven.

A set of jars is a folder named by the hash of the request. It appears by one rename, when it is whole, so an
interrupted download leaves nothing that looks finished. The resolver's settings and cache are private: a damaged or
POM-only `~/.m2` or `~/.ivy2` has no effect.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from xml.sax.saxutils import quoteattr

from stack.exceptions import DownloadFailed
from stack.java import java, spark_jar
from stack.settings import REPOSITORY

CACHE = REPOSITORY / ".floe" / "jars"
ATTEMPTS = 3

# The scala-library is left out: pyspark's own is of the same line (see broker.classpath).
EXCLUDED = ("org.scala-lang:scala-library",)

_SETTINGS = """<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true"/></resolvers>
</ivysettings>
"""


def resolve(
    packages: Sequence[str], folder: Path = CACHE, exclude: Sequence[str] = EXCLUDED, transitive: bool = True
) -> list[Path]:
    """Return the jars of the packages and of all they depend on, fetched once and kept in `folder`.

    A package is `group:artifact:version`, `group:artifact:version:classifier` or
    `group:artifact:version:type:classifier`, with `-` for none; an exclusion is `group:artifact`. Raises DownloadFailed.
    """
    asked = json.dumps([sorted(packages), sorted(exclude), transitive])
    target = folder / "sets" / hashlib.sha256(asked.encode()).hexdigest()[:16]
    if not target.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder):
            if not target.is_dir():
                _fetch(_module(packages, exclude, transitive), folder, target)
    return sorted(path for path in target.iterdir() if path.is_file())


def arrived(folder: Path = CACHE) -> Callable[[], str]:
    """Return what says how much has been downloaded since now, for the progress of a step."""

    def size() -> int:
        found = 0
        for path in folder.rglob("*"):
            with suppress(OSError):  # files come and go meanwhile
                found += path.stat().st_size if path.is_file() else 0
        return found

    before = size()
    return lambda: f"{max(0, size() - before) / 1e6:.0f} MB"


def _fetch(module: str, folder: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="fetching-") as name:
        work = Path(name)
        (work / "ivy.xml").write_text(module)
        (work / "settings.xml").write_text(_SETTINGS)
        for attempt in range(ATTEMPTS):
            said = _run_ivy(work, folder / "ivy")
            if said is None:
                break
            if attempt + 1 == ATTEMPTS:
                message = f"jars could not be fetched from Maven Central: {said}\nCheck the network, then run it again."
                raise DownloadFailed(message)
            time.sleep(2.0 * (attempt + 1))
        broken = [jar.name for jar in (work / "jars").glob("*.jar") if not zipfile.is_zipfile(jar)]
        if broken:
            shutil.rmtree(folder / "ivy", ignore_errors=True)
            message = f"jars arrived damaged: {', '.join(broken)}. The cache was emptied; run it again."
            raise DownloadFailed(message)
        (work / "jars").rename(target)


def _run_ivy(work: Path, cache: Path) -> str | None:
    """Run the resolver; return None, or what it complained about."""
    command = [java(), f"-Divy.default.ivy.user.dir={cache}", "-cp", str(spark_jar("ivy")), "org.apache.ivy.Main"]
    command += ["-settings", str(work / "settings.xml"), "-cache", str(cache / "cache"), "-ivy", str(work / "ivy.xml")]
    command += ["-retrieve", str(work / "jars" / "[artifact]-[revision](-[classifier]).[ext]")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode == 0 and (work / "jars").is_dir():
        return None
    lines = [line.strip(" \t:") for line in done.stdout.splitlines()]
    telling = [line for line in lines if any(word in line for word in ("not found", "FAILED", "rror", "xception"))]
    return "; ".join(dict.fromkeys(telling[:8] or lines[-8:]))


def _module(packages: Sequence[str], exclude: Sequence[str], transitive: bool) -> str:
    """Write the packages as Ivy's module file."""
    lines = [
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">',
        '<info organisation="floe" module="stack"/>',
        '<configurations><conf name="default"/></configurations>',
        "<dependencies>",
    ]
    lines += [_dependency(package, transitive) for package in packages]
    for pair in exclude:
        group, artifact = pair.split(":")
        lines.append(f"<exclude org={quoteattr(group)} module={quoteattr(artifact)}/>")
    return "\n".join([*lines, "</dependencies>", "</ivy-module>"])


def _dependency(package: str, transitive: bool) -> str:
    parts = package.split(":")
    if not 3 <= len(parts) <= 5 or not all(parts):
        message = f"{package!r} is not a package: write group:artifact:version[[:type]:classifier]"
        raise DownloadFailed(message)
    group, name, version = (quoteattr(part) for part in parts[:3])
    head = f"<dependency org={group} name={name} rev={version}"
    # `master` is the package's own jar, `runtime` what it needs to run.
    head += f' transitive="{str(transitive).lower()}" conf="default->master,runtime">'
    if len(parts) == 3:
        return head + "</dependency>"
    kind = quoteattr(parts[3] if len(parts) == 5 else "jar")
    classifier = "" if parts[-1] == "-" else f" m:classifier={quoteattr(parts[-1])}"
    artifact = f"<artifact name={name} type={kind} ext={kind}{classifier}/>"
    return head + artifact + "</dependency>"


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
