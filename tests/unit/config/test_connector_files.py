import contextlib
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from floe.config import ConfigError, connectors_folder, load_connectors, parse_connector, read_connector
from floe.config.check import report
from floe.config.connector_files import read_file
from floe.config.document import parse_document
from floe.config.exceptions import MalformedFile
from floe.config.keys.lookup import KEYS
from tests.support.repository import ROOT


def test_the_connector_of_the_demo_is_fine():
    made = read_connector(ROOT / "dags" / "connectors" / "pizzas-on-ice.json")
    assert (made.name, made.topics, made.tables) == ("pizzas-on-ice", ("completed-pizzas",), ("rpc.pizzas",))
    assert (made.catalog.name, made.catalog.properties) == ("demo", {"type": "sql"})
    assert (made.reading.tasks, made.committing.interval_ms) == (2, 180_000)
    assert made.creation.is_on and made.schema.evolve
    assert made.warnings == ()


def test_a_flat_file_without_a_name_is_named_by_its_stem(write, document):
    assert read_connector(write("my-pizzas.json", document(without=("name",)))).name == "my-pizzas"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        (" \n ", "the file is empty"),
        ("[]", "contains a JSON array"),
        ("null", "contains a JSON null"),
        ("true", "contains a JSON boolean"),
        ('"a"', "contains a JSON string"),
        ("12", "contains a JSON string or number"),
        ('{"a": 1,\n "b": }', r"line 2, column 7: no valid JSON"),
        ('{"a": "1", "a": "2"}', "the key 'a' is given twice"),
        ('{"name": "x", "config": {}, "config": {}}', "the key 'config' is given twice"),
        ('{"a": NaN}', "NaN is no valid JSON"),
        ('{"a": -Infinity}', "-Infinity is no valid JSON"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        ("{}".encode("utf-16"), "byte order mark"),
        (b'{\n"a": "\xff"}', "line 2, byte 7: no valid UTF-8"),
        ("[" * 100_000, "nested too deeply"),
        ("{}" + " " * (1 << 20), "at most 1048576"),
        ('{"a": "\\ud800"}', "the value of a is no valid Unicode"),
        ('{"\\ud800": "a"}', "is no valid Unicode"),
        ('{"": "a"}', "a key must be a text"),
    ],
)
def test_a_malformed_file_is_an_error_that_says_where_and_what(write, content, message):
    path = write("x.json", content)
    with pytest.raises(ConfigError, match=message) as caught:
        read_connector(path)
    assert str(caught.value).startswith(str(path))
    str(caught.value).encode()


def test_key_twice_in_config_counts_by_its_last_value(write, document):
    keys = json.dumps({key: value for key, value in document().items() if key != "name"})[:-1]
    twice = ", ".join(
        f'"{key}": {value}'
        for key, value in [
            ("iceberg.catalog.s3.session-token", '"canary-one"'),
            ("iceberg.catalog.s3.session-token", '"canary-two"'),
            ("tasks.max", 7),
            ("tasks.max", 3),
        ]
    )
    text = f'{{"name": "pizzas", "config": {keys}, {twice}}}}}'
    for file in (read_file(write("x.json", text)), read_file(write("y.json", text))):
        made = file.connector
        assert made is not None
        assert (made.reading.tasks, made.catalog.properties["s3.session-token"]) == (3, "canary-two")
        assert [warning.partition(":")[0] for warning in made.warnings] == [
            "the key 'iceberg.catalog.s3.session-token' is given twice in config",
            "the key 'tasks.max' is given twice in config",
        ]
        assert "canary" not in "".join(made.warnings)
        assert "WARNING the key 'iceberg.catalog.s3.session-token' is given twice" in report(file)


def test_malformed_file_does_not_leak_its_text_in_the_cause(write):
    with pytest.raises(MalformedFile) as caught:
        read_connector(write("x.json", '{"iceberg.catalog.token": "canary",,}'))
    assert caught.value.__cause__ is None
    assert "canary" not in str(caught.value)


def test_a_number_of_thousands_of_digits_is_only_a_wrong_number(write, document):
    text = json.dumps(document()).replace("{", '{"tasks.max": ' + "9" * 5000 + ",", 1)
    with pytest.raises(ConfigError, match="Not a number of type INT"):
        read_connector(write("x.json", text))


def test_a_missing_file_a_folder_and_a_dangling_link_are_errors(tmp_path):
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "nowhere")
    for name in ("missing.json", "folder.json", "link.json"):
        with pytest.raises(ConfigError, match=r"cannot be read|is no file"):
            read_connector(tmp_path / name)


def test_a_pipe_does_not_hang_the_reader(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    (file,) = load_connectors(tmp_path)
    assert "is no file" in str(file.error)


def test_a_broken_file_leaves_the_others_alone(write, tmp_path):
    write("b.json", "{")
    write("a.json")
    write(".hidden.json", "{")
    write("notes.txt", "{")
    first, second = load_connectors(tmp_path)
    assert (first.name, first.error) == ("pizzas", None)
    assert (second.name, second.connector) == ("b", None)
    assert "b.json: line 1, column 2" in str(second.error)


def test_a_broken_file_keeps_the_name_that_it_gives_itself(write):
    assert read_file(write("a.json", {"name": "mine", "config": {}})).name == "mine"
    assert read_file(write("b.json", {"name": "flat"})).name == "flat"
    assert read_file(write("c.json", {"name": "not legal"})).name == "c"
    assert read_file(write("d e:f.json", "{")).name == "d_e_f"
    assert read_file(write("g.json", {"name": 5, "config": 6})).name == "5"


def test_two_connectors_of_one_name_are_both_broken(write, tmp_path):
    one, two = write("one.json"), write("two.json")
    files = load_connectors(tmp_path)
    assert [file.connector for file in files] == [None, None]
    for file in files:
        assert str(one) in str(file.error) and str(two) in str(file.error)
        assert "'pizzas' is used by several" in str(file.error)
    assert len({file.name for file in files}) == 2


def test_two_connectors_of_one_group_and_brokers_are_both_broken(write, tmp_path, document):
    write("a.json", document({"name": "a", "iceberg.connect.group-id": "g"}))
    write("b.json", document({"name": "b", "iceberg.connect.group-id": "g"}))
    write("c.json", document({"name": "c", "iceberg.connect.group-id": "g", "floe.kafka.conn-id": "elsewhere"}))
    a, b, c = load_connectors(tmp_path)
    assert "the group 'g'" in str(a.error) and "the group 'g'" in str(b.error)
    assert c.connector


def test_a_broken_file_never_takes_the_name_of_a_good_one(write, tmp_path):
    write("pizzas.json", "{")
    write("x.json")
    broken, good = load_connectors(tmp_path)
    assert (broken.name, good.name) == ("pizzas-2", "pizzas")


def test_a_folder_that_is_missing_is_an_error_with_the_next_step(tmp_path):
    with pytest.raises(ConfigError, match="create it or set FLOE_CONNECTORS_DIR"):
        load_connectors(tmp_path / "nowhere")


def test_connectors_folder_of_environment_precedes_default(write, tmp_path, monkeypatch):
    write("a.json")
    monkeypatch.setenv("FLOE_CONNECTORS_DIR", str(tmp_path))
    assert [file.name for file in load_connectors()] == ["pizzas"]
    assert connectors_folder(Path("default")) == tmp_path
    monkeypatch.setenv("FLOE_CONNECTORS_DIR", " ")
    assert connectors_folder(Path("default")) == Path("default")
    monkeypatch.delenv("AIRFLOW__CORE__DAGS_FOLDER", raising=False)
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    assert connectors_folder() == tmp_path / "dags" / "connectors"
    monkeypatch.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(ROOT / "dags"))
    assert "pizzas-on-ice" in [file.name for file in load_connectors()]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary() | st.text().map(str.encode) | JSON_VALUES.map(lambda value: json.dumps(value).encode()))
def test_no_content_of_a_file_gets_past_its_error(tmp_path, content):
    path = tmp_path / "x.json"
    path.write_bytes(content)
    file = read_file(path)
    assert file.connector is None
    assert str(file.error).encode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), value=JSON_VALUES)
def test_any_value_of_a_key_makes_a_connector_or_its_errors(document, data, value):
    key = data.draw(st.sampled_from(KEYS)).name.replace("*", "x").replace("<table>", "a.b")
    try:
        made = parse_connector(document({key: value}))
    except ConfigError as error:
        assert error.problems
    else:
        assert parse_connector(made.properties) == made


@given(st.text(alphabet='{}[]":,0 aé\\u\n', max_size=30))
def test_strict_json_never_raises_anything_else(text):
    with contextlib.suppress(MalformedFile):
        parse_document(text.encode())


def test_a_path_with_a_nul_character_is_no_file():
    assert "NUL" in str(read_file(Path("a\0b.json")).error)
