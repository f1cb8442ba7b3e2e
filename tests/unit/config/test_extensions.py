"""What distributions of others add: which count, when they are imported, and what is said of those that cannot be used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from textwrap import dedent

import pytest

from floe.config import ConfigError, Connector, parse_connector
from floe.config.catalogs.catalog_types import TYPES
from floe.config.check import read_connectors
from floe.config.connector_files import load_connectors
from floe.config.converters.converter_classes import CONVERTERS
from floe.config.exceptions import ExtensionUnusable
from floe.config.extensions import VARIABLE, absent, unknown_hint
from floe.config.providers.allow_list import OperatorSettings
from floe.config.transforms.transform_classes import TRANSFORMS
from tests.support.connectors import MINIMAL
from tests.support.extensions import SOURCE, USES, installed_example, list_extensions, listed_example
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
    list_extensions(monkeypatch, "acme-floe", "../../etc", "", "a\nb", "pytest")
    missing = "is not installed in this Python"
    said = f"of {VARIABLE}, 'acme-floe' {missing}, '../../etc' {missing}, 'a\\nb' {missing}, 'pytest' declares nothing"
    assert said in problem(**LINE)
    assert said in problem(**{"transforms": "t", "transforms.t.type": "com.acme.T"})
    assert said in problem(**{"predicates": "p", "predicates.p.type": "com.acme.P"})
    assert said in problem(**{"iceberg.catalog.type": "acme"})
    assert said in problem(**{"iceberg.catalog.type": None, "iceberg.catalog.catalog-impl": "com.acme.Catalog"})
    assert list(absent()) == ["acme-floe", "../../etc", "a\nb", "pytest"]


def test_unknown_name_may_be_of_an_extension_that_is_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    list_extensions(monkeypatch)
    assert absent() == {}
    assert unknown_hint() in problem(**LINE)
    assert f"{VARIABLE} of Airflow's environment lists it" in unknown_hint()


def test_distribution_counts_once_however_it_is_written(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("acme-floe", entry="com.acme.LineConverter = {module}:LINES\nother = {module}:LINES")
    for listed in (("Acme_Floe", "acme-floe"), ("ACME.floe",), ("acme__floe", "acme-floe", "acme-floe")):
        list_extensions(monkeypatch, *listed)
        assert connector(**LINE).value_converter.kind == "acme"


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
        ("import sys\nsys.exit(7)", "cannot be loaded: SystemExit: 7"),
        ("class PanicException(BaseException): pass\nraise PanicException('x')", "cannot be loaded: PanicException: x"),
        ("class Odd(Exception):\n    def __str__(self): return 1 / 0\nraise Odd", "cannot be loaded: Odd."),
        (DECLARATION.replace("LINES =", "class LINES:\n        pass\n\n    X ="), "is a type and no ConverterClass"),
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


def test_name_that_floe_has_itself_means_floes_own(install: Install) -> None:
    install(entry="org.apache.kafka.connect.json.JsonConverter = {module}:LINES\nJson = {module}:LINES", text="1 / 0")
    assert connector().value_converter.engine is None
    assert {one.point.name for one in CONVERTERS.shadowed} == {"org.apache.kafka.connect.json.JsonConverter", "Json"}


def test_other_name_of_floes_own_catalog_means_floes_own(install: Install) -> None:
    install(entry="jdbc = {module}:LINES", group="floe.catalogs", text="1 / 0")
    assert connector(**{"iceberg.catalog.type": "jdbc"}).catalog.type == "sql"
    assert [one.point.name for one in TYPES.shadowed] == ["jdbc"]


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


RETURNS = """
    from floe.config.converters.base import ConverterClass, ConverterSpec
    from floe.config.engine import Engine

    LINES = ConverterClass(frozenset({{"value"}}), lambda options, role: {})
"""


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("1 / 0", "raised ZeroDivisionError: division by zero"),
        ("int(options.text('batch'))", "raised ValueError: invalid literal for int"),
        ("None", "returned no ConverterSpec with an Engine: None"),
        ("ConverterSpec('acme')", "returned no ConverterSpec with an Engine: ConverterSpec(kind='acme'"),
        ("ConverterSpec('acme', engine='acme_code:X')", "returned no ConverterSpec with an Engine"),
        ("ConverterSpec('acme', engine=Engine(':X'))", "returned no ConverterSpec with an Engine"),
        ("ConverterSpec('acme', engine=Engine('a b:X'))", "returned no ConverterSpec with an Engine"),
        ("ConverterSpec([])", "returned no ConverterSpec with an Engine"),
        ("exit(3)", "raised SystemExit: 3"),
    ],
)
def test_converter_that_cannot_read_its_options_is_a_problem_of_its_connectors(
    install: Install, returned: str, said: str
) -> None:
    install(text=RETURNS.format(returned))
    with pytest.raises(ExtensionUnusable, match="of acme, ") as found:
        connector(**LINE)
    assert said in str(found.value) and "Nothing was read or written" in str(found.value)
    assert connector().name == MINIMAL["name"]


def test_check_looks_for_the_code_that_goes_to_workers(install: Install, tmp_path: Path) -> None:
    install(text=DECLARATION.replace("acme_code:X", "acme_nowhere:X"))
    file = tmp_path / "one.json"
    file.write_text(json.dumps({key: value for key, value in {**MINIMAL, **LINE}.items() if value is not None}))
    (found,) = read_connectors([file])
    assert isinstance(found.error, ExtensionUnusable) and "no module 'acme_nowhere'" in str(found.error)


def test_file_with_a_faulty_extension_leaves_the_other_files_alone(install: Install, tmp_path: Path) -> None:
    install(text=RETURNS.format("1 / 0"))
    folder = tmp_path / "connectors"
    folder.mkdir()
    for name, more in (("good", {}), ("bad", LINE)):
        keys = {key: value for key, value in {**MINIMAL, **more, "name": name}.items() if value is not None}
        (folder / f"{name}.json").write_text(json.dumps({"name": name, "config": keys}))
    files = {one.name: one.error for one in load_connectors(folder)}
    assert files["good"] is None and isinstance(files["bad"], ExtensionUnusable)


TRANSFORM = """
    from dataclasses import dataclass
    from typing import ClassVar
    from floe.config.engine import Engine
    from floe.config.transforms.options import TransformClass, TransformEngine, TransformOptions

    @dataclass(frozen=True)
    class Options(TransformOptions):
        engine: ClassVar = TransformEngine(Engine("acme:X"))

        {more}

    class NoEngine(TransformOptions):
        pass

    def read(problems, prefix, keys):
        {read}

    LINES = TransformClass({name}, {keys}, read)
"""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"read": "return None"}, "returned no TransformOptions with an engine, and no problem: None"),
        ({"read": "return NoEngine()"}, "returned no TransformOptions with an engine"),
        ({"read": "raise OSError('gone')"}, "raised OSError: gone"),
        ({"more": "renames_topic = property(lambda self: 1 / 0)"}, "raised ZeroDivisionError"),
        ({"more": "to_json = lambda self: {1j}"}, "raised TypeError"),
        ({"keys": "None"}, "has keys that are no tuple"),
        ({"name": "5"}, "is named 5: it has to be declared by that name"),
        ({"name": "['acme.T']"}, "is named ['acme.T']: it has to be"),
    ],
)
def test_transform_that_is_no_proper_one_is_refused(install: Install, change: dict[str, str], said: str) -> None:
    text = {"more": "x: int = 1", "read": "return Options()", "name": "'acme.T'", "keys": "()"}
    keys = {"transforms": "t", "transforms.t.type": "acme.T"}
    install(entry="acme.T = {module}:LINES", group="floe.transforms", text=TRANSFORM.format(**{**text, **change}))
    with pytest.raises(ExtensionUnusable) as found:
        connector(**keys)
    assert said in str(found.value)
    install(entry="acme.T = {module}:LINES", group="floe.transforms", text=TRANSFORM.format(**text))
    assert connector(**keys).transforms[0].package == "acme"


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("entry_points.txt", b"[floe.converters]\nno equals sign\n"),
        ("entry_points.txt", b"[floe.converters]\na = b:\xff\n"),
        ("entry_points.txt", b"a = b:c\n"),
    ],
)
def test_metadata_that_cannot_be_read_harm_no_other_connector(
    install: Install, tmp_path: Path, file: str, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    install()
    (tmp_path / "acme-1.0.dist-info" / file).write_bytes(content)
    list_extensions(monkeypatch, "acme")
    assert connector().name == MINIMAL["name"]
    assert f"of {VARIABLE}, 'acme' " in problem(**LINE)


@pytest.mark.parametrize("metadata", [None, b"Name: \xff\n", b"no header"])
def test_distribution_is_named_as_it_is_listed(
    install: Install, tmp_path: Path, metadata: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(text="1 / 0")
    file = tmp_path / "acme-1.0.dist-info" / "METADATA"
    file.unlink() if metadata is None else file.write_bytes(metadata)
    list_extensions(monkeypatch, "acme")
    assert "acme:LINES of acme, cannot be loaded: ZeroDivisionError" in problem(**LINE)


def test_group_that_floe_does_not_ask_is_named(install: Install) -> None:
    install(group="floe.converter")
    assert absent() == {"acme": "declares for floe.converter, which floe does not ask"}
    assert "'acme' declares for floe.converter" in problem(**LINE)


@pytest.mark.parametrize(
    "read",
    [
        "problems.append(ValueError('x'))",
        "problems.append(5)",
        "problems.clear() or problems.append([])",
        "return type('Late', (Options,), {'reads_keys': property(lambda self: next(calls))})()",
    ],
)
def test_odd_things_that_show_late_are_a_problem_of_the_connector(install: Install, read: str) -> None:
    text = {"more": "x: int = 1", "read": f"calls = iter([False]); {read}", "name": "'acme.T'", "keys": "()"}
    install(entry="acme.T = {module}:LINES", group="floe.transforms", text=TRANSFORM.format(**text))
    with pytest.raises(ConfigError):
        connector(**{"transforms": "t", "transforms.t.type": "acme.T"})
    assert connector().name == MINIMAL["name"]


def test_catalog_whose_class_stands_for_its_name_is_not_imported(install: Install) -> None:
    install(entry="com.acme.Catalog = {module}:LINES", group="floe.catalogs", text="1 / 0")
    said = problem(**{"iceberg.catalog": "com.acme.Catalog", "iceberg.catalog.type": None, "iceberg.catalog.uri": "x"})
    assert "iceberg.catalog.type is not given" in said
    assert "acme" not in sys.modules


@pytest.mark.parametrize("entry", ["JsonConverter", "Json", "org.acme.JsonConverter"])
def test_short_name_of_floes_own_means_floes_own(install: Install, entry: str) -> None:
    install(entry=f"{entry} = {{module}}:LINES")
    for name in ("JsonConverter", "Json"):
        assert connector(**{"value.converter": name}).value_converter.engine is None


def test_connector_without_a_converter_loads_none(install: Install) -> None:
    install(entry="acme.Converter = {module}:LINES", text="1 / 0")
    assert "value.converter is not given" in problem(
        **{"value.converter": None, "value.converter.schemas.enable": None}
    )


CATALOG = """
    from floe.config.catalogs.base import CatalogType
    from floe.config.engine import Engine

    LINES = CatalogType("InMem", Engine("acme_code:X"), aliases=("mem",), implementations=("com.acme.Catalog",), {})
"""


def test_catalog_type_is_found_in_any_case_and_by_its_aliases(install: Install) -> None:
    install(entry="InMem = {module}:LINES\nmem = {module}:LINES", group="floe.catalogs", text=CATALOG.format(""))
    for name in ("InMem", "inmem", "MEM"):
        assert connector(**{"iceberg.catalog.type": name}).catalog.type == "InMem"


def test_catalog_type_that_is_declared_by_a_class_only_is_refused(install: Install) -> None:
    install(entry="com.acme.Catalog = {module}:LINES", group="floe.catalogs", text=CATALOG.format(""))
    by_class = {"iceberg.catalog.type": None, "iceberg.catalog.catalog-impl": "com.acme.Catalog"}
    assert "is named 'InMem': it has to be declared by that name too" in problem(**by_class)


@pytest.mark.parametrize("more", ["problems=lambda given: 1 / 0", "keys=(5,)", "name_problem=None", "keys=None"])
def test_catalog_type_that_raises_is_refused(install: Install, more: str) -> None:
    install(entry="InMem = {module}:LINES", group="floe.catalogs", text=CATALOG.format(more))
    with pytest.raises(ExtensionUnusable, match=r"'InMem' of floe\.catalogs, acme:LINES of acme, (raised|has keys)"):
        connector(**{"iceberg.catalog.type": "inmem"})


@pytest.mark.parametrize("text", ["raise Ended", RETURNS.format("__import__('builtins').ended()")])
def test_what_ends_a_task_is_no_problem_of_an_extension(
    install: Install, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    class Ended(BaseException):
        """What Airflow raises in a task whose time is over, wherever it is by then."""

    def ended() -> None:
        raise Ended

    monkeypatch.setattr("builtins.Ended", Ended, raising=False)
    monkeypatch.setattr("builtins.ended", ended, raising=False)
    install(text=text)
    with pytest.raises(Ended):
        connector(**LINE)


# -- the example of the docs ------------------------------------------------------------------------------------------

EVERY = {
    **USES,
    "iceberg.catalog.type": "example-folder",
    "iceberg.catalog.example.folder": "/lake",
    "iceberg.catalog.uri": None,
    "iceberg.catalog.warehouse": None,
}


def test_example_is_read_with_the_standard_library_alone(installed_example: Path) -> None:
    """DAG files are parsed every 30 seconds: a declaration imports nothing heavy."""
    keys = {key: value for key, value in {**MINIMAL, **EVERY}.items() if value is not None}
    script = dedent(f"""
        import sys
        from floe.config import parse_connector
        connector = parse_connector({keys!r})
        assert connector.catalog.type == "example-folder" and connector.value_converter.engine
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
    assert set(one.extension_sources()["floe_example"].files) == expected
    assert one.code["floe_example"][1] == one.extension_sources()["floe_example"].sha256
    assert connector().extension_sources() == {}


@pytest.mark.parametrize("engine", ["_json:X", "json.decoder:X", "acme.nope:X", "acme_nowhere:X"])
def test_code_that_cannot_go_to_workers_is_refused(install: Install, engine: str) -> None:
    install(text=DECLARATION.replace("acme_code:X", engine))
    with pytest.raises(ExtensionUnusable, match=r"of an extension cannot go to Spark's workers: .*Nothing was written"):
        connector(**LINE).extension_sources()


def test_declaration_and_code_are_both_a_part_of_the_plan(install: Install, tmp_path: Path) -> None:
    (tmp_path / "acme_code.py").write_text("X = 1\n")
    install()
    before = connector(**LINE).code
    assert set(before) == {"acme", "acme_code"}
    (tmp_path / "acme.py").write_text(dedent(DECLARATION) + "# other\n")
    assert {name for name, code in connector(**LINE).code.items() if code != before[name]} == {"acme"}


def test_package_of_an_editable_installation_is_found(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere" / "acme_code.py"
    elsewhere.parent.mkdir()
    elsewhere.write_text("X = 1\n")

    class Finder:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
            return spec_from_file_location(name, elsewhere) if name == "acme_code" else None

    install()
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    assert connector(**LINE).extension_sources()["acme_code"].files["acme_code.py"] == "X = 1\n"


@pytest.mark.usefixtures("listed_example")
def test_names_of_the_example_are_listed_beside_floes() -> None:
    assert {"example.Steer", "example.Label"} <= set(TRANSFORMS) and len(TRANSFORMS) == len(TRANSFORMS.own) + 3
    assert list(TYPES.added) == ["example-folder"]
    assert TYPES["example-folder"].name == "example-folder"


@pytest.mark.usefixtures("listed_example")
def test_keys_of_the_examples_catalog_are_checked_by_it() -> None:
    spec = connector(**EVERY).catalog
    assert spec.for_pyiceberg()["uri"] == "sqlite:////lake/catalog.db"
    assert spec.for_spark()["type"] == "jdbc"
    for key, value, said in (
        ("iceberg.catalog.example.folder", None, "iceberg.catalog.example.folder is missing: set it to the folder"),
        ("iceberg.catalog.example.folder", "lake", "iceberg.catalog.example.folder 'lake' is no folder"),
        ("iceberg.catalog.uri", "sqlite:///x.db", "iceberg.catalog.uri is refused: the catalog is catalog.db in"),
        ("iceberg.catalog.example.foldr", "/x", "iceberg.catalog.example.foldr"),
    ):
        assert said in problem(**{**EVERY, key: value})
