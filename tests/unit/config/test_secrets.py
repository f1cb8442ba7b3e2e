import copy
import pickle

import pytest

from floe.config import ConfigError, Properties, ThawError, is_secret, override, thaw

CANARY = "c4n4ry-7f3a"
SECRETS = {
    "iceberg.catalog.token": CANARY,
    "iceberg.catalog.credential": f"id:{CANARY}",
    "iceberg.catalog.s3.secret-access-key": CANARY,
    "iceberg.catalog.s3.access-key-id": CANARY,
    "iceberg.catalog.header.X-Anything": CANARY,
    "iceberg.catalog.uri": f"postgresql://floe:{CANARY}@db/catalog",
    "iceberg.kafka.sasl.password": CANARY,
    "iceberg.kafka.ssl.key.pem": CANARY,
    "consumer.override.ssl.key.password": CANARY,
    "key.converter.basic.auth.user.info": f"u:{CANARY}",
}


@pytest.mark.parametrize(
    "key",
    [
        *(key for key in SECRETS if not key.endswith(".uri")),
        "sasl.jaas.config",
        "iceberg.kafka.sasl.username",
        "adls.account-key",
        "adls.connection-string",
        "adls.sas-token",
        "gcs.oauth2.token",
        "client.key",
        "ssl.keystore.password",
        "PASSWORD",
        "apiKey",
        "private.key",
        "s3.session-token",
    ],
)
def test_a_key_that_looks_like_a_secrets_is_one(key):
    assert is_secret(key)


@pytest.mark.parametrize(
    "value",
    [
        "http://user:pw@host/",
        "https://token@host/",
        "postgresql://u:p%40@h/db",
        "jdbc:x://h/db?user=a&password=b",
        "https://a.blob/?sv=1&sig=abc",
        "-----BEGIN PRIVATE KEY-----",
        "x required username='a' password='b';",
    ],
)
def test_a_value_that_carries_a_secret_is_one(value):
    assert is_secret("iceberg.catalog.uri", value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("iceberg.catalog.uri", "http://rest:8181/v1"),
        ("iceberg.catalog.warehouse", "s3://bucket/a"),
        ("key.converter", "JsonConverter"),
        ("iceberg.kafka.bootstrap.servers", "a:9092,b:9092"),
        ("iceberg.catalog.oauth2-server-uri", "https://host/oidc"),
        ("transforms.meta.include_key", "true"),
    ],
)
def test_a_harmless_setting_is_no_secret(key, value):
    assert not is_secret(key, value)


def test_printing_shows_no_secret(connector):
    made = connector(SECRETS)
    assert CANARY not in repr(made) and CANARY not in str(made)
    assert CANARY not in repr(made.catalog_props)
    assert made.catalog_props["token"] == CANARY


def test_errors_show_no_secret(problems):
    over = SECRETS | {"iceberg.catalog.type": "hive", "iceberg.catalgo.token": CANARY, "iceberg.tables.cdc-field": "x"}
    assert CANARY not in str(problems(over))


def test_a_frozen_configuration_has_references_in_the_place_of_secrets(connector):
    made = connector(SECRETS)
    frozen = made.frozen()
    assert CANARY not in str(frozen)
    assert set(frozen) == set(made.properties)
    assert frozen["iceberg.tables"] == "rpc.pizzas"
    assert thaw(frozen, made) == made


def test_thawing_keeps_the_plans_settings_and_takes_todays_secrets(connector):
    planned = connector({"iceberg.catalog.token": "old", "tasks.max": 2})
    today = connector({"iceberg.catalog.token": "new", "tasks.max": 5})
    thawed = thaw(planned.frozen(), today)
    assert (thawed.catalog_props["token"], thawed.tasks_max) == ("new", 2)


def test_thawing_names_the_secret_that_the_file_no_longer_has(connector):
    with pytest.raises(ThawError, match=r"iceberg\.catalog\.token was a secret"):
        thaw(connector({"iceberg.catalog.token": "x"}).frozen(), connector())


def test_thawing_another_connectors_configuration_is_refused(connector):
    with pytest.raises(ThawError, match="of connector 'other', not of 'pizzas'"):
        thaw(connector({"name": "other"}).frozen(), connector())


def test_an_overridden_connector_survives_freezing(connector):
    file = connector(SECRETS)
    changed = override(file, {"tasks.max": 7})
    assert thaw(changed.frozen(), file) == changed


def test_a_file_cannot_hold_what_reads_like_a_reference(problems):
    assert problems({"iceberg.catalog.token": "${floe:iceberg.catalog.token}"})


def test_an_override_goes_over_the_file_and_keeps_its_secrets(connector):
    file = connector(SECRETS)
    made = override(file, {"iceberg.tables": "rpc.other", "tasks.max": 3, "iceberg.tables.evolve-schema-enabled": True})
    assert (made.tables, made.tasks_max, made.schema.evolve) == (("rpc.other",), 3, True)
    assert made.catalog_props == file.catalog_props
    assert file.tables == ("rpc.pizzas",)


def test_an_override_of_nothing_changes_nothing(connector):
    assert override(connector(), {}) == connector()


def test_an_override_goes_over_the_other_spelling_too(connector):
    file = connector({"iceberg.table.write-props.a": "1"})
    assert override(file, {"iceberg.tables.write-props.a": "2"}).write_props == {"a": "2"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("iceberg.catalog.token", CANARY),
        ("iceberg.kafka.sasl.password", CANARY),
        ("iceberg.tables.auto-create-props.note", f"postgresql://a:{CANARY}@b/c"),
    ],
)
def test_a_secret_does_not_go_in_params(connector, key, value):
    with pytest.raises(ConfigError, match="secrets do not go in params") as caught:
        override(connector(), {key: value})
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    "key",
    [
        "name",
        "iceberg.catalog.uri",
        "iceberg.catalog.oauth2-server-uri",
        "iceberg.catalog.s3.endpoint",
        "iceberg.catalog.py-io-impl",
        "iceberg.kafka.bootstrap.servers",
        "iceberg.kafka.security.protocol",
        "iceberg.kafka.sasl.mechanism",
        "iceberg.kafka.ssl.ca.location",
        "consumer.override.ssl.engine.location",
        "consumer.override.plugin.library.paths",
        "consumer.override.enable.ssl.certificate.verification",
    ],
)
def test_params_may_not_rename_or_redirect_a_connector(connector, key):
    with pytest.raises(ConfigError, match=r"cannot be (overridden|set by params)"):
        override(connector(), {key: "x"})


@pytest.mark.parametrize("mapping", [{"tasks.max": "x"}, {"iceberg.tabels": "a.b"}, {"topics": None}, {"config": {}}])
def test_an_override_is_validated_like_the_file(connector, mapping):
    with pytest.raises(ConfigError, match=r"^param config: "):
        override(connector(), mapping)


@pytest.mark.parametrize("mapping", [None, [], "tasks.max=2"])
def test_an_override_that_is_no_object_is_refused(connector, mapping):
    with pytest.raises(ConfigError, match="must be an object"):
        override(connector(), mapping)


def test_a_connector_can_be_copied_pickled_and_hashed(connector):
    made = connector(SECRETS)
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made  # noqa: S301 - made here
    assert hash(made) == hash(copy.deepcopy(made))


ROUTED = {
    "iceberg.tables": "a.b, c.d",
    "iceberg.tables.route-field": "kind",
    "iceberg.table.a.b.route-regex": "x.*",
    "iceberg.table.a.b.commit-branch": "audit",
    "iceberg.table.a.b.partition-by": "day(ts)",
    "iceberg.table.a.b.id-columns": "id, x.y",
    "floe.table.a.b.sort-by": "ts desc",
    "floe.table.c.d.topics": "completed-pizzas",
    "floe.route.on-unroutable": "dead-letter",
    "floe.deadletter.table": "ops.letters",
    "floe.deadletter.max-ratio": "0.1",
    "iceberg.tables.schema-force-optional": "true",
    "floe.schema.on-conflict": "string",
    "floe.partition.on-unsuitable": "unpartitioned",
    "transforms": "meta",
    "transforms.meta.type": "KafkaMetadataTransform",
    "transforms.meta.include_key": "true",
}
DYNAMIC = {
    "iceberg.tables": "",
    "topics": "",
    "topics.regex": "orders-.*",
    "floe.route.by": "header",
    "floe.route.header": "kind",
    "floe.route.template": "raw.{topic}__{value}",
    "iceberg.table.raw.orders_eu__x.commit-branch": "audit",
}


@pytest.mark.parametrize("over", [ROUTED, DYNAMIC], ids=["static", "dynamic"])
def test_a_connector_with_routes_can_be_copied_pickled_hashed_and_thawed(connector, over):
    made = connector({**over, **SECRETS})
    made.table("a.b")  # looked up once, it is remembered
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made  # noqa: S301 - made here
    assert hash(made) == hash(copy.deepcopy(made))
    assert thaw(made.frozen(), made) == made
    assert override(made, {}) == made


def test_an_override_of_the_tables_goes_over_the_settings_of_those_that_it_leaves_out(connector):
    made = override(connector(ROUTED), {"iceberg.tables": "a.b"})
    assert made.tables == ("a.b",)
    assert "floe.table.c.d.topics" not in made.properties
    assert made.table("a.b").branch == "audit"
    assert thaw(made.frozen(), connector()) == made


def test_an_override_may_name_fewer_topics_than_the_tables_ask_for(connector):
    file = connector({"topics": "a,b", "floe.table.rpc.pizzas.topics": "b"})
    made = override(file, {"topics": "a"})
    assert (made.topics, made.table("rpc.pizzas").topics) == (("a",), {"b"})
    assert thaw(made.frozen(), file) == made


def test_an_override_of_topics_goes_over_an_expression_and_the_other_way_round(connector):
    by_name, by_regex = connector(), connector({"topics.regex": "a.*"}, ("topics",))
    assert override(by_regex, {"topics": "b"}) == connector({"topics": "b"})
    assert override(by_name, {"topics.regex": "a.*"}) == by_regex
    with pytest.raises(ConfigError, match="mutually exclusive"):
        override(by_name, {"topics": "a", "topics.regex": "a.*"})


def test_an_error_can_be_pickled():
    error = ConfigError("one", "two").located("file")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 - made here


def test_properties_compare_with_any_mapping():
    assert Properties({"a": "1"}) == {"a": "1"}
    assert Properties() != [("a", "1")]
