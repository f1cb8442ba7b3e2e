"""The archive of Spark's classes: made once, by one, and never in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from floe.operators.spark.local_mode import ClassArchive, class_archive

OPTIONS = "-Xshare:auto"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A Java and a Spark of empty files, and a cache of their own."""
    for file in ("java/bin/java", "spark/jars/a.jar", "spark/jars/b.jar"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("")
    (tmp_path / "java/bin/java").chmod(0o755)
    names = {"JAVA_HOME": "java", "SPARK_HOME": "spark", "FLOE_CACHE_DIR": "cache"}
    return {variable: str(tmp_path / folder) for variable, folder in names.items()}


def make(environ: dict[str, str], options: str = OPTIONS) -> Path:
    """Let a JVM write an archive and return where it is kept."""
    with class_archive(environ, options) as archive:
        assert archive is not None
        assert archive.is_draft
        assert "ArchiveClassesAtExit" in archive.option
        archive.path.write_text("classes")
    with class_archive(environ, options) as kept:
        assert kept is not None
        assert not kept.is_draft
        assert "SharedArchiveFile" in kept.option
        return kept.path


def test_the_first_run_makes_it_and_the_next_uses_it(environ: dict[str, str]) -> None:
    assert make(environ).read_text() == "classes"


@pytest.mark.parametrize("changed", ["jar", "java", "options"])
def test_other_jar_java_or_options_have_their_own_archive(environ: dict[str, str], changed: str) -> None:
    first = make(environ)
    if changed == "jar":
        Path(environ["SPARK_HOME"], "jars", "a.jar").write_text("newer")
    if changed == "java":
        Path(environ["JAVA_HOME"], "release").write_text("JAVA_VERSION=21")
    assert make(environ, "-XX:+UseG1GC" if changed == "options" else OPTIONS) != first


def test_of_two_that_start_at_once_one_makes_it(environ: dict[str, str]) -> None:
    with class_archive(environ, OPTIONS) as one, class_archive(environ, OPTIONS) as other:
        assert one is not None
        assert other is None


def test_a_run_that_fails_or_is_killed_leaves_no_half_an_archive(environ: dict[str, str]) -> None:
    with pytest.raises(RuntimeError), class_archive(environ, OPTIONS) as archive:
        assert archive is not None
        archive.path.write_text("half")
        raise RuntimeError
    Path(environ["FLOE_CACHE_DIR"], archive.path.name).write_text("half, by one that was killed")
    assert make(environ).read_text() == "classes"


def test_a_jvm_that_writes_none_is_not_asked_again(environ: dict[str, str]) -> None:
    with class_archive(environ, OPTIONS) as archive:
        assert archive is not None
    with class_archive(environ, OPTIONS) as again:
        assert again is None


@pytest.mark.parametrize("why", ["settings on the class path", "others may write", "no java", "not wanted"])
def test_where_none_can_be_kept_the_run_goes_on_without(environ: dict[str, str], why: str) -> None:
    cache = Path(environ["FLOE_CACHE_DIR"])
    if why == "settings on the class path":
        Path(environ["SPARK_HOME"], "conf").mkdir()
        Path(environ["SPARK_HOME"], "conf", "spark-defaults.conf").touch()
    if why == "others may write":
        cache.mkdir()
        cache.chmod(0o777)
    if why == "no java":
        Path(environ["JAVA_HOME"], "bin", "java").unlink()
    if why == "not wanted":
        environ["FLOE_CACHE_DIR"] = ""
    with class_archive(environ, OPTIONS) as archive:
        assert archive is None


def test_the_oldest_archives_make_room(environ: dict[str, str]) -> None:
    kept = [make(environ, f"-Xmx{i}m") for i in range(5)]
    assert [path.exists() for path in kept] == [False, False, True, True, True]


def test_an_option_survives_a_space_in_its_path() -> None:
    assert ClassArchive(Path("/a b/c.jsa")).option.startswith('"-XX:SharedArchiveFile=/a b/c.jsa"')
