"""`transforms.x.type=python:…`: which classes are taken, and what is read of them without running them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from floe.config import ConfigError, Connector, parse_connector
from floe.config.connector_files import read_file
from floe.config.exceptions import OverrideRefused
from floe.config.overrides.run_overrides import override
from floe.config.providers.allow_list import OperatorSettings
from floe.config.transforms.python_class import MAX_FILES, VARIABLE, AllowedModules, PythonClass
from floe.tables.table_state import Routes
from tests.support.connectors import MINIMAL
from tests.support.job.python_classes import Modules, source

TOPIC = "completed-pizzas"
SEEN = "import os\nos._exit(7)\n\n\n"
"""What ends the process that runs it."""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Modules:
    """A module with a class, which the operator allows."""
    made = Modules(tmp_path / "path", monkeypatch)
    (tmp_path / "path").mkdir()
    made.write("own_module", SEEN + source("return batch"))
    made.allow("own_module")
    return made


def connector(path: str = "own_module.Own", **keys: str) -> Connector:
    own = {f"transforms.x.{key}": value for key, value in keys.items()}
    return parse_connector({**MINIMAL, "transforms": "x", "transforms.x.type": f"python:{path}", **own})


def options(made: Connector) -> PythonClass:
    (spec,) = made.transforms
    assert isinstance(spec.options, PythonClass)
    return spec.options


def problems(path: str = "own_module.Own") -> str:
    with pytest.raises(ConfigError) as found:
        connector(path)
    return str(found.value)


def test_class_is_read_without_being_run(modules: Modules) -> None:
    read = options(connector(field="a", threshold="3"))
    assert (read.path, read.entry, read.version) == ("own_module.Own", "own_module", 1)
    assert read.keys == (("field", "a"), ("threshold", "3"))
    assert len(read.sha256) == 64
    assert "own_module" not in sys.modules


def test_config_imports_no_engine(modules: Modules) -> None:
    code = (
        "import sys\nfrom floe.config import parse_connector\nfrom tests.support.connectors import MINIMAL\n"
        "parse_connector({**MINIMAL, 'transforms': 'x', 'transforms.x.type': 'python:own_module.Own'})\n"
        "print(sorted({'pyarrow', 'pyspark', 'pyiceberg', 'own_module', 'floe_job'} & set(sys.modules)))"
    )
    path = os.pathsep.join(entry for entry in sys.path if entry)
    env = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_predicate_is_no_option_of_the_class(modules: Modules) -> None:
    keys = {"predicates": "p", "predicates.p.type": "RecordIsTombstone", "transforms.x.predicate": "p"}
    own = {"transforms": "x", "transforms.x.type": "python:own_module.Own", "transforms.x.negate": "true"}
    (spec,) = parse_connector({**MINIMAL, **keys, **own}).transforms
    assert isinstance(spec.options, PythonClass)
    assert (spec.options.keys, spec.negate) == ((), True)


# -- the allow-list ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("listed", ["", "other", "own_modul", "own_module.*.x", "*", "own_module.Own", "../own_module"])
def test_module_that_is_not_listed_is_refused(modules: Modules, listed: str) -> None:
    modules.allow(listed)
    assert f"the module 'own_module' is not allowed here, {VARIABLE} lists {listed or 'none'}" in problems()


def test_entry_that_is_no_module_is_named(modules: Modules) -> None:
    modules.allow("other", "my-module")
    assert "'my-module' in it is no module" in problems()


def test_package_covers_all_below_it_and_no_other(modules: Modules) -> None:
    allowed = AllowedModules(("a.*", "b.c"))
    assert [allowed.entry(name) for name in ("a", "a.b", "a.b.c", "b.c")] == ["a.*", "a.*", "a.*", "b.c"]
    assert [allowed.entry(name) for name in ("ab", "b", "b.c.d", "bb.c", "")] == [None] * 5


def test_connector_and_run_cannot_allow_a_module(modules: Modules, monkeypatch: pytest.MonkeyPatch) -> None:
    made = connector()
    monkeypatch.setenv("FLOE_OVERRIDABLE_KEYS", "transforms*")
    for keys in ({"transforms.x.type": "python:os.Own"}, {VARIABLE: "os"}, {"floe.transform.modules": "os"}):
        with pytest.raises(OverrideRefused):
            override(made, keys)
    with pytest.raises(ConfigError):
        parse_connector(
            {**MINIMAL, "transforms": "x", "transforms.x.type": "python:os.Own", "floe.transform.modules": "os"}
        )


def test_list_counts_whenever_a_connector_is_read(modules: Modules) -> None:
    made = connector()
    modules.allow("other")
    with pytest.raises(ConfigError, match=VARIABLE):
        parse_connector(made.properties, narrowed=True)
    with pytest.raises(ConfigError, match=VARIABLE):
        parse_connector(made.properties, operator=OperatorSettings.of({}))
    assert parse_connector(made.properties, operator=OperatorSettings.of({VARIABLE: "own_module"})) == made


# -- what is no class -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "Own",
        "",
        ".Own",
        "own_module.",
        "own_module..Own",
        "../own_module.Own",
        "/etc/own_module.Own",
        "own_module/x.Own",
        "own_module.Own()",
        "own-module.Own",
        "own_module.Own\nx",
        "own_module .Own",
        "ówn.Own",
        "own_module.__import__('os')",
        "a." * 300 + "Own",
    ],
)
def test_path_is_names_and_dots_alone(modules: Modules, path: str) -> None:
    modules.allow("own_module", "a.*")
    assert "is no path of a class: write python:package.module.Class" in problems(path)


def test_class_of_floe_itself_is_refused(modules: Modules) -> None:
    modules.allow("floe_job.*", "floe.*")
    for path in ("floe_job.transform.own.Batch", "floe.config.Connector"):
        assert "is in a package of floe's own" in problems(path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = 1\n", "no class 'Own' at the top: its classes are none"),
        ("class Other:\n    version = 1\n", "no class 'Own' at the top: its classes are Other"),
        ("def f():\n    class Own:\n        version = 1\n", "no class 'Own' at the top"),
        ("class Own:\n    version = 1\nclass Own:\n    version = 2\n", "more than one class 'Own'"),
        ("class Own:\n    pass\n", "no version that can be read without running it"),
        ("class Own:\n    version = '1'\n", "no version"),
        ("class Own:\n    version = True\n", "no version"),
        ("class Own:\n    version = 0\n", "no version"),
        ("class Own:\n    version = 1 + 1\n", "no version"),
        ("class Own:\n    version = 1\n    version = 2\n", "no version"),
        ("class Own:\n    version: int\n", "no version"),
        ("class Own:\n    def f(self):\n        version = 1\n", "no version"),
        ("class Own(:\n", "is no Python that this interpreter reads"),
        ("x = " + "(" * 5000 + ")" * 5000 + "\n", "is no Python that this interpreter reads"),
        ("# coding: latin-1\nclass Own:\n    version = 1\n", "is not in UTF-8"),
    ],
)
def test_source_without_class_or_version_is_refused(modules: Modules, text: str, problem: str) -> None:
    modules.write("own_module", text)
    assert problem in problems()


@pytest.mark.parametrize("line", ["version = 3", "version: int = 3", "other = version = 3"])
def test_version_is_a_literal_of_the_class(modules: Modules, line: str) -> None:
    modules.write("own_module", f"class Own:\n    {line}\n")
    assert options(connector()).version == 3


def test_module_that_is_nowhere_is_refused(modules: Modules) -> None:
    modules.allow("nowhere", "os.path", "own_module.inner")
    assert "no module 'nowhere' is on the path of this Python" in problems("nowhere.Own")
    assert "'own_module' is a module and no package" in problems("own_module.inner.Own")
    assert "has no class 'Own'" in problems("os.Own") or "not allowed" in problems("os.Own")


def test_folder_without_init_is_refused(modules: Modules, tmp_path: Path) -> None:
    (tmp_path / "path" / "bare").mkdir()
    (tmp_path / "path" / "bare" / "inner.py").write_text(source("return batch"))
    modules.allow("bare.*")
    assert "'bare' is a folder without __init__.py" in problems("bare.inner.Own")


def test_package_of_too_many_files_is_refused(modules: Modules, tmp_path: Path) -> None:
    modules.write("many.own", source("return batch"))
    for number in range(MAX_FILES):
        (tmp_path / "path" / "many" / f"m{number}.py").touch()
    modules.allow("many.*")
    assert f"more than {MAX_FILES} files" in problems("many.own.Own")


# -- the hashes -------------------------------------------------------------------------------------------------------


@pytest.fixture
def package(modules: Modules) -> Iterator[Modules]:
    """A package of two modules, of which one has the class."""
    modules.write("own_package.own", source("return batch"))
    modules.write("own_package.deep.helper", "LIMIT = 1\n")
    modules.allow("own_package.*")
    yield modules


def test_entry_says_what_is_hashed_and_shipped(package: Modules) -> None:
    whole = options(connector("own_package.own.Own"))
    assert set(whole.read()[1].files) == {
        "own_package/__init__.py",
        "own_package/own.py",
        "own_package/deep/__init__.py",
        "own_package/deep/helper.py",
    }
    package.allow("own_package.own")
    one = options(connector("own_package.own.Own"))
    assert set(one.read()[1].files) == {"own_package/__init__.py", "own_package/own.py"}
    assert one.sha256 != whole.sha256
    package.write("own_package.deep.helper", "LIMIT = 2\n")
    assert options(connector("own_package.own.Own")) == one
    package.allow("own_package.*")
    assert options(connector("own_package.own.Own")).sha256 != whole.sha256


def test_line_ends_do_not_change_the_hash(modules: Modules) -> None:
    before = options(connector()).sha256
    path = modules.write("own_module", "")
    path.write_bytes((SEEN + source("return batch")).replace("\n", "\r\n").encode())
    assert options(connector()).sha256 == before


def test_class_options_and_version_are_in_the_route_hash(modules: Modules) -> None:
    def route(made: Connector) -> str:
        return Routes(made).route(TOPIC, "rpc.pizzas")

    base, with_option = route(connector()), route(connector(field="a"))
    modules.write("own_module", source("return batch.filter([True] * len(batch))"))
    assert route(connector()) == base, "the version says whether the rows are others"
    modules.write("own_module", source("return batch", version=2))
    newer = route(connector())
    modules.write("own_module", source("return batch", name="Other"))
    assert len({base, with_option, newer, route(connector("own_module.Other"))}) == 4


def test_plan_keeps_its_version(modules: Modules) -> None:
    made = connector()
    code = made.code
    assert code == {"own_module.Own": (1, options(made).sha256)}
    modules.write("own_module", source("return batch", version=2))
    later = connector()
    assert later.code != code
    assert later.with_code(code) == made
    assert later.with_code({}) == later


def test_file_is_read_again_when_a_module_changes(modules: Modules, tmp_path: Path) -> None:
    file = tmp_path / "pizzas.json"
    file.write_text('{"transforms": "x", "transforms.x.type": "python:own_module.Own", ' + _json(MINIMAL)[1:])
    first = read_file(file).connector
    assert first is not None
    modules.write("own_module", source("return batch", version=2))
    second = read_file(file).connector
    assert second is not None
    assert [value for value, _ in second.code.values()] == [2]


def _json(keys: object) -> str:
    import json

    return json.dumps(keys)


@pytest.mark.parametrize(
    "line", ["# -*- coding: utf-8 -*-", "# coding:utf8", "#!/usr/bin/python\n# vim: set fileencoding=UTF-8 :"]
)
def test_source_that_says_it_is_in_utf8_is_taken(modules: Modules, line: str) -> None:
    modules.write("own_module", f"{line}\n{source('return batch')}")
    assert connector().transforms


@pytest.mark.parametrize("line", ["# -*- coding: latin-1 -*-", "# coding=cp1252"])
def test_source_in_another_encoding_is_refused(modules: Modules, line: str) -> None:
    modules.write("own_module", f"{line}\n{source('return batch')}")
    with pytest.raises(ConfigError, match="is not in UTF-8: write it so"):
        connector()
