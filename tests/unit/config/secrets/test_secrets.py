import copy
import pickle

import pytest

from floe.config import ConfigError, ConfigRestoreError, Properties, is_secret, override, restore_config

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
        "db-pass",
        "lake.creds",
        "apiKey",
        "private.key",
        "s3.session-token",
        "value.converter.bearer.auth.token",
        "value.converter.bearer.auth.client.secret",
        "value.converter.schema.registry.ssl.keystore.key",
        "value.converter.request.header.X-Anything",
        "value.converter.request.headers.X-Anything",
        "value.converter.apicurio.registry.request.headers.X-Anything",
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
        "abfss://user:pass@account.dfs.core.windows.net/a",
        "abfss://landing@account.dfs.core.windows.net/a?sig=abcdefgh",
        "abfss://landing@user:pass@host/a",
    ],
)
def test_a_value_that_carries_a_secret_is_one(value):
    assert is_secret("iceberg.catalog.uri", value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("iceberg.catalog.uri", "http://rest:8181/v1"),
        ("iceberg.catalog.warehouse", "s3://bucket/a"),
        ("iceberg.catalog.warehouse", "abfss://landing@account.dfs.core.windows.net/a"),
        ("key.converter", "JsonConverter"),
        ("iceberg.kafka.bootstrap.servers", "a:9092,b:9092"),
        ("iceberg.catalog.oauth2-server-uri", "https://host/oidc"),
        ("transforms.meta.include_key", "true"),
        ("transforms.by.pass-through", "false"),
        ("iceberg.table.db.passengers.id-columns", "id"),
        ("value.converter.basic.auth.credentials.source", "USER_INFO"),
        ("value.converter.schema.registry.bearer.auth.credentials.source", "OAUTHBEARER"),
        ("value.converter.apicurio.auth.service.token.endpoint", "https://login/token"),
        ("value.converter.apicurio.registry.headers.enabled", "true"),
        ("value.converter.schema.registry.ssl.key.location", "/etc/key.pem"),
        ("iceberg.kafka.sasl.oauthbearer.token.endpoint.url", "https://login/token"),
        ("iceberg.catalog.authentication.oauth2.token-endpoint", "https://login/token"),
        (
            "iceberg.catalog.client.credentials-provider",
            "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider",
        ),
    ],
)
def test_a_harmless_setting_is_no_secret(key, value):
    assert not is_secret(key, value)


def test_printing_shows_no_secret(connector):
    made = connector(SECRETS)
    assert CANARY not in repr(made) and CANARY not in str(made)
    assert CANARY not in repr(made.catalog.properties)
    assert made.catalog.properties["token"] == CANARY


def test_errors_show_no_secret(problems):
    over = SECRETS | {"iceberg.catalog.type": "hive", "iceberg.catalgo.token": CANARY, "iceberg.tables.cdc-field": "x"}
    assert CANARY not in str(problems(over))


def test_plan_config_has_references_instead_of_secrets(connector):
    made = connector(SECRETS)
    frozen = made.frozen()
    assert CANARY not in str(frozen)
    assert set(frozen) == set(made.properties)
    assert frozen["iceberg.tables"] == "rpc.pizzas"
    assert restore_config(frozen, made) == made


def test_restored_config_has_plan_settings_and_current_secrets(connector):
    planned = connector({"iceberg.catalog.token": "old", "tasks.max": 2})
    today = connector({"iceberg.catalog.token": "new", "tasks.max": 5})
    thawed = restore_config(planned.frozen(), today)
    assert (thawed.catalog.properties["token"], thawed.reading.tasks) == ("new", 2)


def test_thawing_names_the_secret_that_the_file_no_longer_has(connector):
    with pytest.raises(ConfigRestoreError, match=r"iceberg\.catalog\.token was a secret"):
        restore_config(connector({"iceberg.catalog.token": "x"}).frozen(), connector())


def test_thawing_another_connectors_configuration_is_refused(connector):
    with pytest.raises(ConfigRestoreError, match="of connector 'other', not of 'pizzas'"):
        restore_config(connector({"name": "other"}).frozen(), connector())


def test_an_overridden_connector_survives_freezing(connector):
    file = connector(SECRETS)
    changed = override(file, {"tasks.max": 7})
    assert restore_config(changed.frozen(), file) == changed


def test_a_file_cannot_hold_what_reads_like_a_reference(problems):
    assert problems({"iceberg.catalog.token": "${floe:iceberg.catalog.token}"})


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
def test_connector_with_routes_is_copied_pickled_and_restored(connector, over):
    made = connector({**over, **SECRETS})
    made.table("a.b")  # looked up once, it is remembered
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made  # noqa: S301 - made here
    assert hash(made) == hash(copy.deepcopy(made))
    assert restore_config(made.frozen(), made) == made
    assert override(made, {}) == made


def test_an_error_can_be_pickled():
    error = ConfigError("one", "two").located("file")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 - made here


def test_properties_compare_with_any_mapping():
    assert Properties({"a": "1"}) == {"a": "1"}
    assert Properties() != [("a", "1")]
