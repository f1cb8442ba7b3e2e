"""No connector file costs more than its size: neither the parsing of the others, nor their DAGs."""

import json
import os
import re
import sys
from itertools import product

import pytest

from floe.config import ConfigError, load_connectors, parse_connector
from floe.config.connector_files import read_file

TABLE = "a" * 120
DYNAMIC = {"iceberg.tables": "", "topics": "", "topics.regex": "x"}


def forget():
    """Empty the caches of bounded size: what they hold depends on what was read before."""
    modules = [module for name, module in sys.modules.items() if name.startswith("floe.config")]
    cached = [value for module in modules for value in vars(module).values() if hasattr(value, "cache_info")]
    for one in cached:
        if one.cache_info().maxsize is not None:
            one.cache_clear()


def calls(function, *arguments):
    """Count the calls, of Python and of C, that one call comes to: a cost that no other load changes."""
    count = 0
    re.purge()  # how many compiled expressions it keeps depends on the tests before

    def count_call(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(count_call)
    try:
        function(*arguments)
    except ConfigError:
        pass
    finally:
        sys.setprofile(None)
    return count


def own_unknown(n):
    return {f"iceberg.zz{i}": "x" for i in range(n)}


def foreign(n):
    return {f"acme.zz{i}": "x" for i in range(n)}


def tables(n):
    return {"iceberg.tables": ",".join(f"a.b{i}" for i in range(n))}


def topics(n):
    return {"topics": ",".join(f"t{i}" for i in range(n))}


def settings_of_tables(n):
    return {**tables(n), **{f"iceberg.table.a.b{i}.commit-branch": "b" for i in range(n)}}


def topics_of_tables(n):
    return {**topics(n), **tables(n), **{f"floe.table.a.b{i}.topics": f"t{i}" for i in range(n)}}


def partition_terms(n):
    return {"iceberg.tables.default-partition-by": ",".join(f"c{i}" for i in range(n // 2))}


def sort_terms(n):
    return {"floe.table.rpc.pizzas.sort-by": ",".join(f"c{i} desc" for i in range(n // 4))}


def unnamed_transforms(n):
    return {f"transforms.t{i}.type": "x" for i in range(n)}


def named_tables(n):
    template = {"floe.route.template": "raw.{topic}_{value}", "floe.route.by": "key"}
    return {**DYNAMIC, **template, **{f"iceberg.table.raw.a_b{i}.commit-branch": "b" for i in range(n)}}


def logins(n):
    """Broken, with secrets that messages may quote."""
    return {"iceberg.tables": "user", **{f"iceberg.catalog.pass{i}": f"user:{i}pass{i}@host" for i in range(n)}}


def encoded_logins(n):
    return {"iceberg.tables": "user", **{f"iceberg.catalog.pass{i}": f"x://user:{i}%20@host" for i in range(n)}}


def misspelt_secrets(n):
    return {"iceberg.tables": "xxxxxx", **{f"iceberg.catalog.secr{word(i)}": "xxxxxx" for i in range(n)}}


def references(n):
    return {f"iceberg.catalog.s3.k{i}": "${file:/x:y}" for i in range(n)}


def settings_of_no_table(n):
    return {f"iceberg.table.ns.t{i}.route-regex": f"({i}" for i in range(n)}


def expressions(n):
    named = {**tables(n // 4), "iceberg.tables.route-field": "kind"}
    return {**named, **{f"iceberg.table.a.b{i}.route-regex": f"(a){i}" for i in range(n // 4)}}


def names_of_topics(n):
    named = {"iceberg.tables": "", "floe.route.template": "raw.{topic}_{value}", "floe.route.by": "key"}
    return {**topics(n), **named, "iceberg.table.raw.t1_x.commit-branch": "b"}


def long_names_of_transforms(n):
    return {
        "transforms": ",".join("a." * i + "a" for i in range(40)),
        **{f"transforms.b{'.a' * 40}{i}": "x" for i in range(n)},
    }


def metrics(n):
    return {f"iceberg.table.write-props.write.metadata.metrics.column.c{i}": "truncate(16)" for i in range(n)}


def word(number):
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


SHAPES = (
    *(own_unknown, foreign, tables, topics, settings_of_tables, topics_of_tables, partition_terms, sort_terms),
    *(unnamed_transforms, named_tables, logins, encoded_logins, misspelt_secrets, references, settings_of_no_table),
    *(expressions, names_of_topics, long_names_of_transforms, metrics),
)


@pytest.mark.parametrize("shape", SHAPES)
def test_cost_of_a_file_grows_with_its_size_only(document, shape):
    small, large = (document(shape(n)) for n in (500, 2000))
    calls(parse_connector, large)  # what is made once is made now
    forget()
    few = calls(parse_connector, small)
    calls(parse_connector, large)
    many = calls(parse_connector, large)
    assert many < 4.5 * few
    assert many < 100 * 2000


@pytest.mark.parametrize("shape", SHAPES)
def test_a_file_beyond_the_limit_of_keys_is_not_read(document, shape):
    try:
        parse_connector(document(shape(50_000)))
    except ConfigError as error:
        assert len(error.problems) < 10


@pytest.mark.parametrize(
    ("over", "words"),
    [
        (foreign(5000), "this connector has 5006 keys: one may have 5000"),
        (topics(10_001), "10002 elements in its lists: one may have 10000"),
        ({"transforms": "a," * 100}, "101 transforms: one may have 100"),
        ({f"iceberg.table.a.b{i}.route-regex": "a.*" * 500 for i in range(7)}, "10500 characters in expressions"),
    ],
)
def test_what_is_beyond_a_limit_is_refused_with_the_count(problems, over, words):
    (problem,) = problems(over)
    assert words in problem and "divide it into several connectors" in problem


def test_plain_words_are_no_expressions_that_count(connector):
    route = {"iceberg.tables": ",".join(f"a.b{i}" for i in range(1000)), "iceberg.tables.route-field": "kind"}
    assert connector({**route, **{f"iceberg.table.a.b{i}.route-regex": f"kind-{i}-of-a-pizza" for i in range(1000)}})


@pytest.mark.parametrize(
    "over",
    [
        {"topics": "", "topics.regex": "(a+)+" * 400},
        {"topics": "", "topics.regex": "(?!a{9000})" + "(a{0,9}){9}" * 90},
        {"topics": "", "topics.regex": r"\W" * 2000},
        {"topics": "", "topics.regex": "(?i)" + r"[\W\d]" * 600},
        {**DYNAMIC, "floe.route.template": "raw." + "{topic}" * 30 + "z", f"iceberg.table.raw.{TABLE}.id-columns": "a"},
        {**DYNAMIC, "floe.route.template": "raw." + "{topic}_" * 30, f"iceberg.table.raw.{TABLE}.id-columns": "a"},
        {"iceberg.tables.default-partition-by": "a," * 1999 + "b"},
        {"floe.table.rpc.pizzas.sort-by": "a" + " " * 3990 + "b"},
    ],
    ids=range(8),
)
def test_no_expression_or_template_is_hostile_to_the_reader(document, over):
    """Each of these took seconds to ages at least once; a hang is seen by whoever runs the test."""
    assert calls(parse_connector, document(over)) < 300_000


def test_a_content_is_parsed_once_for_all_dag_files(write, tmp_path, monkeypatch):
    write("a.json")
    write("b.json", "{")
    first = load_connectors(tmp_path)
    monkeypatch.setattr("floe.config.connector_files.parse_document", None)
    again = load_connectors(tmp_path)
    assert again[0].connector is first[0].connector
    assert str(again[1].error) == str(first[1].error)


def test_a_content_under_another_file_name_is_another_connector(write, document):
    one, two = (read_file(write(f"{name}.json", document(without=("name",)))) for name in ("one", "two"))
    assert (one.name, two.name) == ("one", "two")


def test_an_error_is_shown_in_part_and_says_how_many_more(problems, document):
    with pytest.raises(ConfigError) as caught:
        parse_connector(document(own_unknown(3000)))
    assert caught.value.problems[-1] == "… and 2901 more"
    assert len(str(caught.value)) < 20_000
    with pytest.raises(ConfigError) as caught:
        parse_connector(document({"iceberg." + "z" * 900_000: "x"}))
    assert len(str(caught.value)) < 2500


HOSTILE = {
    "brackets": "[" * 1_000_000,
    "objects": '{"a":' * 200_000,
    "number": '{"tasks.max": ' + "9" * 1_000_000 + "}",
    "twice": "{" + ",".join('"a": 1' for _ in range(100_000)) + "}",
    "keys": json.dumps(own_unknown(40_000)),
    "beside": json.dumps({"config": {}, **own_unknown(4000)}),
    "inside": json.dumps({"name": "x", "config": {f"k{i}": [{}] for i in range(5000)}}),
    "key": json.dumps({"iceberg." + "k" * 1_000_000: 1}),
    "name": json.dumps({"name": "n" * 1_000_000}),
    "bytes": "\x00" * 1_000_000,
    "blanks": " " * 1_000_000,
    "strings": '{"a' + "\\u0061" * 150_000,
}


@pytest.mark.parametrize(("name", "content"), HOSTILE.items(), ids=HOSTILE)
def test_a_hostile_file_is_one_error_of_bounded_cost(write, name, content):
    path = write(f"{name}.json", content)
    assert calls(read_file, path) < 200_000
    file = read_file(path)
    assert file.connector is None and 0 < len(str(file.error)) < 250_000


def test_whatever_lies_in_the_folder_the_good_files_are_read(write, tmp_path):
    write("good.json")
    for name, content in HOSTILE.items():
        write(f"bad-{name}.json", content)
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    (tmp_path / "away.json").symlink_to(tmp_path / "nowhere")
    write("closed.json", "{}").chmod(0)
    (tmp_path / os.fsdecode(b"\xff.json")).write_text("{")
    files = load_connectors(tmp_path)
    assert [file.path.name for file in files if file.connector] == ["good.json"]
    assert len({file.name for file in files}) == len(HOSTILE) + 7


def test_of_many_files_with_one_name_each_error_stays_short(write, tmp_path):
    for number, again in product(range(20), range(10)):
        write(f"{number}-{again}.json")
    assert max(len(str(file.error)) for file in load_connectors(tmp_path)) < 2000
