"""The name and the interval under which a broken file fails."""

import json
import stat

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from floe.config import load_connectors
from floe.config.connector_files import read_file
from floe.config.identity import DEFAULT_INTERVAL_MS, UNKNOWN, Identity, IdentityStore, identity_in_text, identity_of
from floe.config.sections.dag import INTERVAL as BY_INTERVAL
from floe.config.sections.dag import Schedule

INTERVAL = "iceberg.control.commit.interval-ms"
KEPT = st.from_regex(r'\{"a.json": \{"name": .{0,9}, "interval-ms": .{0,9}\}\}', fullmatch=True)
GOOD = json.dumps({"name": "pizzas", "config": {"topics": "t", INTERVAL: 60000, "iceberg.tables": "a.b"}}, indent=2)


@pytest.mark.parametrize(
    "text",
    [
        GOOD[:-1],
        GOOD.replace(",", "", 1),
        GOOD.replace('"t"', '"t'),
        GOOD.replace("60000", '"60000"') + "}",
        GOOD.replace('"', "'"),
        GOOD.replace('"name"', "name").replace(f'"{INTERVAL}"', INTERVAL),
        GOOD.replace("{", '{"floe.name": "x", "transforms.name": "y",', 1) + ",",
        "// the pizzas\n" + GOOD,
        GOOD.replace("a.b", "\udcff").encode(errors="surrogateescape"),
        GOOD.encode("utf-16"),
        GOOD.replace('"topics"', '"topics": 1, "topics"'),
    ],
)
def test_name_and_interval_are_found_in_text_that_is_no_json(write, text):
    file = read_file(write("x.json", text))
    assert (file.name, file.interval_ms, file.is_name_from_file) == ("pizzas", 60000, False)
    assert file.connector is None


@pytest.mark.parametrize(
    ("fields", "interval"),
    [
        ({}, 300_000),
        ({INTERVAL: "60000"}, 60000),
        ({INTERVAL: 5}, 1000),
        ({INTERVAL: "3 min"}, None),
        ({INTERVAL: 0}, None),
    ],
)
def test_json_without_interval_has_the_default_one(fields, interval):
    assert identity_of({"name": "a", "config": fields}) == Identity("a", interval, BY_INTERVAL)


def test_what_a_text_does_not_say_is_what_was_last_good(write, tmp_path):
    write("a.json", '{"topics": "t",')
    last_good = {"a.json": Identity("pizzas", 60000)}
    (file,) = load_connectors(tmp_path, last_good)
    assert (file.name, file.interval_ms, file.is_name_from_file) == ("pizzas", 60000, False)
    (file,) = load_connectors(tmp_path)
    assert (file.name, file.interval_ms, file.is_name_from_file) == ("a", DEFAULT_INTERVAL_MS, True)


def test_a_name_that_is_not_legal_is_not_taken(write):
    assert read_file(write("a.json", {"name": "no dag id", "topics": 1}), Identity("pizzas", 1000)).name == "pizzas"
    assert read_file(write("b.json", '{"name": "x.replay", "topics": 1,')).name == "b"


def test_a_good_file_does_not_ask_what_it_was(write):
    file = read_file(write("a.json"), Identity("other", 1000))
    assert (file.name, file.interval_ms) == ("pizzas", DEFAULT_INTERVAL_MS)


def test_broken_file_never_takes_the_name_of_a_good_one(write, tmp_path):
    write("old.json", "{")
    write("pizzas.json")
    broken, good = load_connectors(tmp_path, {"old.json": Identity("pizzas", 1000)})
    assert (broken.name, good.name) == ("pizzas-2", "pizzas")


@given(st.binary())
def test_any_content_has_an_identity(content):
    assert identity_in_text(content).interval_ms is None or identity_in_text(content).interval_ms >= 1000


def test_what_is_kept_is_read_back_and_only_by_its_owner(tmp_path):
    store = IdentityStore(tmp_path / "cache", tmp_path / "connectors")
    assert store.load() == {}
    kept = {
        "a.json": Identity("pizzas", 60000, Schedule("@daily", "Asia/Tokyo")),
        "\udcff.json": Identity("b", 1000, BY_INTERVAL),
    }
    store.save(kept)
    assert store.load() == kept
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700
    assert [path.name for path in store.path.parent.iterdir()] == [store.path.name]


def test_two_folders_of_connectors_are_kept_apart(tmp_path):
    one, two = (IdentityStore(tmp_path, tmp_path / name) for name in ("one", "two"))
    one.save({"a.json": Identity("pizzas", 60000)})
    assert two.load() == {}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary()
    | st.from_regex(r'\{"a.json": \{"name": .{0,9}, "interval-ms": .{0,9}\}\}', fullmatch=True).map(str.encode)
)
def test_a_changed_store_is_worth_no_more_than_a_file(tmp_path, content):
    store = IdentityStore(tmp_path, tmp_path)
    store.path.parent.mkdir(exist_ok=True)
    store.path.write_bytes(content)
    for identity in store.load().values():
        assert identity.or_else(UNKNOWN) == identity_of({"name": identity.name, INTERVAL: identity.interval_ms})
