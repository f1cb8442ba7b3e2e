import pytest

from floe.config.keys.key import KeyType, Status
from floe.config.keys.lookup import KEYS, canonical, find, near_miss
from floe.config.secrets.detection import is_secret

SINKS_DEFAULTS = {
    "iceberg.tables.dynamic-enabled": "false",
    "iceberg.tables.upsert-mode-enabled": "FALSE",
    "predicates": "",
}


def example(name: str) -> str:
    return name.replace("<table>", "rpc.pizzas").replace("*", "a.b")


def test_every_key_stands_in_the_table_once():
    names = [entry.name for entry in KEYS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("entry", KEYS, ids=lambda entry: entry.name)
def test_every_row_is_found_by_its_key_and_documented(entry):
    assert find(example(entry.name)) is entry
    assert entry.doc.endswith(".")
    assert "|" not in entry.doc


@pytest.mark.parametrize("entry", [key for key in KEYS if key.kind is not KeyType.MAP], ids=lambda entry: entry.name)
def test_no_key_of_the_table_is_mistaken_for_a_secret(entry):
    assert not is_secret(example(entry.name))


@pytest.mark.parametrize("entry", [key for key in KEYS if key.status is Status.REFUSED], ids=lambda entry: entry.name)
def test_a_key_that_is_not_built_is_refused_by_name(problems, entry):
    key = example(entry.name)
    over = {key: "true"}
    assert any(problem.startswith(f"{key} is not supported") and entry.doc in problem for problem in problems(over))


@pytest.mark.parametrize(("key", "value"), SINKS_DEFAULTS.items())
def test_a_key_that_is_not_built_passes_when_it_asks_for_nothing(connector, key, value):
    assert connector({key: value}).warnings == ()


@pytest.mark.parametrize("entry", [key for key in KEYS if key.status is Status.NO_EFFECT], ids=lambda entry: entry.name)
def test_a_key_without_effect_is_taken_with_the_reason(connector, entry):
    key = example(entry.name)
    value = {KeyType.INT: "5", KeyType.LONG: "5", KeyType.BOOLEAN: "true"}.get(entry.kind, "x")
    assert connector({key: value}).warnings == (f"{key} has no effect: {entry.doc}",)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("iceberg.table", "iceberg.tables"),
        ("iceberg.tables.auto-create", "iceberg.tables.auto-create-enabled"),
        ("iceberg.control.commit.interval.ms", "iceberg.control.commit.interval-ms"),
        ("iceberg.kafak.linger.ms", "iceberg.kafka.linger.ms"),
        ("iceberg.tables.partition-by", "iceberg.tables.default-partition-by"),
        ("iceberg.catalgo.uri", "iceberg.catalog.uri"),
        ("iceberg.table.rpc.pizzas.commit-brnch", "iceberg.table.rpc.pizzas.commit-branch"),
        ("iceberg.tables.write-prop.write.metadata.metrics", "iceberg.tables.write-props.write.metadata.metrics"),
        ("iceberg.tables.auto-create-props.", "iceberg.tables.auto-create-props.*"),
        ("floe.max-record-per-run", "floe.max-records-per-run"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_known_one(problems, wrong, right):
    assert problems({wrong: "x"}) == (f"unknown key {wrong!r}; the nearest known key is {right}",)


@pytest.mark.parametrize("key", ["iceberg.", "floe.", "iceberg.zzz", "floe." + "x" * 100_000])
def test_unknown_key_like_no_other_is_refused_without_a_guess(problems, key):
    (problem,) = problems({key: "x"})
    assert problem.endswith(
        "there is no such key, nor one that means it: remove it. docs/reference/configuration.md has all keys"
    )


def test_a_key_of_somebody_else_is_taken_with_a_warning(connector):
    (warning,) = connector({"confluent.license": "x"}).warnings
    assert warning.startswith("'confluent.license' is no key of floe")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("task.max", "tasks.max"),
        ("topic", "topics"),
        ("value.convertor", "value.converter"),
        ("consumer.overide.max.poll.records", "consumer.override.max.poll.records"),
        ("header.convert.x", "header.converter"),
        ("transform.x.type", "transforms.x.type"),
        ("icebreg.catalog.uri", "iceberg.catalog.uri"),
        ("icberg.table.rpc.pizzas.route-regex", "iceberg.table.rpc.pizzas.route-regex"),
        ("flow.max-records-per-run", "floe.max-records-per-run"),
        ("eror.tolerance", "errors.tolerance"),
    ],
)
def test_a_key_within_two_edits_of_a_known_one_is_refused(problems, wrong, right):
    assert f"unknown key {wrong!r}; the nearest known key is {right}" in problems({wrong: "x"})


@pytest.mark.parametrize("key", ["errors.tolerence", "errors.zzz", "predicates.p.type", "transforms.x.type", "floe.x"])
def test_an_unknown_key_of_a_family_floe_knows_is_refused(problems, key):
    assert any(repr(key) in problem or key in problem for problem in problems({key: "x"}))


def test_more_than_fifty_foreign_keys_are_refused_as_a_whole(connector, problems):
    fifty = {f"acme.key{number}": "x" for number in range(50)}
    assert len(connector(fifty).warnings) == 50
    (problem,) = problems({**fifty, "acme.one-more": "x"})
    assert problem.startswith("51 keys are none of floe")


def test_thousands_of_unknown_keys_are_answered_in_time(problems):
    found = problems({f"iceberg.zz{number}": "x" for number in range(3000)})
    assert (len(found), found[-1]) == (100, "… and 2901 more")


def test_tabulars_spelling_is_an_alias():
    assert canonical("iceberg.table.write-props.a.b") == "iceberg.tables.write-props.a.b"
    assert canonical("anything") == "anything"


@pytest.mark.parametrize("key", ["something.else.entirely", "mode", "confluent.license", "kafka.api.key", "a", "id"])
def test_a_foreign_key_is_near_to_nothing(key):
    assert near_miss(key) is None
