"""What distributions of others add: which count, when they are imported, and what is said of those that cannot be used."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from floe.config import ConfigError, Connector, parse_connector
from floe.config.catalogs.registry import TYPES
from floe.config.converters.registry import CONVERTERS
from floe.config.exceptions import ExtensionUnusable
from floe.config.extensions import VARIABLE, missing, missing_hint
from floe.config.providers.operator_settings import OperatorSettings
from floe.config.transforms.registry import TRANSFORMS
from tests.support.connectors import MINIMAL
from tests.support.extensions import SOURCE, installed_example, list_extensions, listed_example
from tests.support.repository import ROOT

__all__ = ["installed_example", "listed_example"]

LINE = {"value.converter": "com.acme.LineConverter", "value.converter.schemas.enable": None}
GROUP = "floe.converters"
DECLARATION = """
    from floe.config.converters.base import ConverterClass, ConverterSpec
    from floe.config.engine import Engine

    LINES = ConverterClass(
        frozenset({"value"}), lambda options, role: ConverterSpec("acme", role=role, engine=Engine("acme_code:X"))
    )
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install distributions of one module, each with one entry point, and list them."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    listed: list[str] = []

    def made(
        name: str = "acme",
        entry: str = "com.acme.LineConverter = {module}:LINES",
        text: str = DECLARATION,
        group: str = GROUP,
        is_listed: bool = True,
    ) -> None:
        module = name.replace("-", "_")
        folder = tmp_path / f"{module}-1.0.dist-info"
        folder.mkdir(exist_ok=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[{group}]\n{entry.format(module=module)}\n")
        (tmp_path / f"{module}.py").write_text(dedent(text))
        sys.modules.pop(module, None)
        if is_listed:
            listed.append(name)
        list_extensions(monkeypatch, *listed)

    return made


def connector(**keys: str | None) -> Connector:
    return parse_connector({key: value for key, value in {**MINIMAL, **keys}.items() if value is not None})


def problem(**keys: str | None) -> str:
    with pytest.raises(ConfigError) as found:
        connector(**keys)
    return str(found.value)


# -- which count ------------------------------------------------------------------------------------------------------


def test_extension_that_is_listed_is_read(install: Install) -> None:
    install()
    spec = connector(**LINE).value_converter
    assert (spec.kind, spec.engine.path if spec.engine else None) == ("acme", "acme_code:X")
    assert "com.acme.LineConverter" in CONVERTERS


def test_extension_that_is_not_listed_counts_for_nothing(install: Install) -> None:
    install(is_listed=False)
    assert "is no converter that floe knows" in problem(**LINE)
    assert "com.acme.LineConverter" not in CONVERTERS
    assert "acme" not in sys.modules


def test_extension_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    list_extensions(monkeypatch, "acme-floe", "../../etc", "")
    said = f"{VARIABLE} lists acme-floe, ../../etc, not installed in this Python"
    assert said in problem(**LINE)
    assert said in problem(**{"transforms": "t", "transforms.t.type": "com.acme.T"})
    assert said in problem(**{"predicates": "p", "predicates.p.type": "com.acme.P"})
    assert said in problem(**{"iceberg.catalog.type": "acme"})
    assert said in problem(**{"iceberg.catalog.type": None, "iceberg.catalog.catalog-impl": "com.acme.Catalog"})
    assert missing() == ("acme-floe", "../../etc")


def test_nothing_is_said_where_nothing_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    list_extensions(monkeypatch)
    assert (missing(), missing_hint()) == ((), "")
    assert VARIABLE not in problem(**LINE)


def test_extension_is_imported_when_it_is_named_and_not_before(install: Install) -> None:
    install(text="raise SystemExit(7)")
    assert connector().name == MINIMAL["name"]
    assert "com.acme.LineConverter" in list(CONVERTERS)
    assert "com.acme.LineConverter" in problem(**{"value.converter": "com.acme.Other"})
    assert "acme" not in sys.modules


def test_list_is_a_part_of_what_a_parsed_connector_depends_on() -> None:
    versions = {OperatorSettings.of({VARIABLE: listed}).version for listed in ("", "acme", "acme,other")}
    assert len(versions) == 3


# -- what cannot be used, and the way out ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import no_such_library", "ModuleNotFoundError: No module named 'no_such_library'"),
        ("LINE = 1", "AttributeError: module 'acme' has no attribute 'LINES'"),
        ("LINES = 7", "is a int and no ConverterClass"),
        ("def", "SyntaxError"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_declaration_that_cannot_be_loaded_is_refused_until_it_is_corrected(
    install: Install, text: str, said: str
) -> None:
    install(text=text)
    with pytest.raises(ExtensionUnusable) as found:
        connector(**LINE)
    assert "'com.acme.LineConverter' of floe.converters, acme:LINES of acme," in str(found.value)
    assert said in str(found.value)
    assert found.value.code == "FLOE-114"
    assert connector().name == MINIMAL["name"], "other connectors are read"
    install()
    assert connector(**LINE).value_converter.kind == "acme"


def test_name_that_floe_has_itself_is_refused_until_it_is_unlisted(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = MINIMAL["value.converter"]
    install(entry=f"{own} = {{module}}:LINES")
    assert f"'{own}' of floe.converters is there more than once: acme declares it, and floe has it" in problem()
    list_extensions(monkeypatch)
    assert connector().value_converter.engine is None


def test_name_that_two_distributions_declare_is_refused_until_one_is_unlisted(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install()
    install("acme-two")
    assert "is there more than once: acme and acme-two declare it. Take a distribution off" in problem(**LINE)
    list_extensions(monkeypatch, "acme-two")
    assert connector(**LINE).value_converter.kind == "acme"


def test_simple_name_of_two_classes_is_refused_with_both(install: Install) -> None:
    install()
    install("other", entry="org.other.LineConverter = {module}:LINES")
    both = "com.acme.LineConverter or org.other.LineConverter"
    assert f"'LineConverter' is the name of several classes: write {both}" in problem(
        **{**LINE, "value.converter": "LineConverter"}
    )


def test_declaration_under_another_name_than_its_own_is_refused(install: Install) -> None:
    text = """
        from floe.config.transforms.options import TransformClass

        LINES = TransformClass("com.acme.Right", (), lambda problems, prefix, keys: None)
    """
    install(entry="com.acme.Wrong = {module}:LINES", group="floe.transforms", text=text)
    said = problem(**{"transforms": "t", "transforms.t.type": "com.acme.Wrong"})
    assert "is named com.acme.Right: it has to be declared by that name" in said


def test_catalog_type_may_be_declared_by_a_class_of_javas_too(install: Install) -> None:
    text = """
        from floe.config.catalogs.base import CatalogType
        from floe.config.engine import Engine

        LINES = CatalogType("acme", Engine("acme_code:X"), implementations=("com.acme.Catalog",))
    """
    entries = "acme = {module}:LINES\ncom.acme.Catalog = {module}:LINES"
    install(entry=entries, group="floe.catalogs", text=text)
    by_class = {"iceberg.catalog.type": None, "iceberg.catalog.catalog-impl": "com.acme.Catalog"}
    assert connector(**by_class).catalog.type == connector(**{"iceberg.catalog.type": "ACME"}).catalog.type == "acme"
    assert "acme" in problem(**{"iceberg.catalog.type": "unity"})
    assert "com.acme.Catalog" not in problem(**{"iceberg.catalog.type": "unity"})


# -- the example of the docs ------------------------------------------------------------------------------------------

EVERY = {
    "value.converter": "LineConverter",
    "value.converter.schemas.enable": None,
    "transforms": "steer,label",
    "transforms.steer.type": "Steer",
    "transforms.steer.predicate": "p",
    "transforms.label.type": "example.Label",
    "predicates": "p",
    "predicates.p.type": "HasField",
    "predicates.p.name": "do",
    "iceberg.catalog.type": "in-memory",
}


def test_example_is_read_with_the_standard_library_alone(installed_example: Path) -> None:
    """DAG files are parsed every 30 seconds: a declaration imports nothing heavy."""
    keys = {key: value for key, value in {**MINIMAL, **EVERY}.items() if value is not None}
    script = dedent(f"""
        import sys
        from floe.config import parse_connector
        connector = parse_connector({keys!r})
        assert connector.catalog.type == "in-memory" and connector.value_converter.engine
        assert len(connector.transforms) == 2 and connector.transforms[0].predicate.engine
        print(sorted({{"pyarrow", "pyiceberg", "pyspark", "airflow", "floe_job"}} & set(sys.modules)))
    """)
    path = os.pathsep.join(map(str, (installed_example, ROOT / "plugins", ROOT / "spark_jobs")))
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": path, VARIABLE: "floe-example", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


@pytest.mark.usefixtures("listed_example")
def test_example_goes_to_workers_as_sources() -> None:
    one = connector(**EVERY)
    assert set(one.extension_sources()) == {"floe_example"}
    expected = {f"floe_example/{path.name}" for path in (SOURCE / "floe_example").glob("*.py")}
    assert set(one.own_files()) == expected
    assert one.code["floe_example"][1] == one.extension_sources()["floe_example"].sha256
    assert connector().own_files() == {}


def test_engine_without_sources_is_refused(install: Install) -> None:
    install(text=DECLARATION.replace("acme_code", "_json"))
    with pytest.raises(ExtensionUnusable, match=r"'_json' cannot go to Spark's workers.*Nothing was written"):
        connector(**LINE).own_files()


@pytest.mark.usefixtures("listed_example")
def test_names_of_the_example_are_listed_beside_floes() -> None:
    assert {"example.Steer", "example.Label"} <= set(TRANSFORMS) and len(TRANSFORMS) == len(TRANSFORMS.own) + 2
    assert list(TYPES.added) == ["in-memory"]
    assert TYPES["in-memory"].name == "in-memory"
