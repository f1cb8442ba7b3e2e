import pytest

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
BOTH = pytest.mark.parametrize("prefix", ["iceberg.kafka.", "consumer.override."])


@BOTH
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("group.id", "x"),
        ("transactional.id", "x"),
        ("enable.auto.commit", "true"),
        ("enable.auto.offset.store", "true"),
        ("isolation.level", "read_uncommitted"),
        ("enable.idempotence", "false"),
        ("acks", "1"),
    ],
)
def test_settings_that_floe_owns_are_refused(problems, prefix, key, value):
    assert problems({prefix + key: value})[0].startswith(f"{prefix}{key} is floe's own: ")


@BOTH
@pytest.mark.parametrize(
    ("key", "value"), [("isolation.level", "read_committed"), ("enable.auto.commit", False), ("acks", "all")]
)
def test_the_value_that_floe_sets_anyway_passes(connector, prefix, key, value):
    connector({prefix + key: value})


@BOTH
@pytest.mark.parametrize(
    "key",
    [
        "plugin.library.paths",
        "interceptor.classes",
        "config.providers",
        "config.providers.file.class",
        "sasl.login.callback.handler.class",
        "value.deserializer",
        "key.serializer",
    ],
)
def test_settings_that_load_code_are_refused(problems, prefix, key):
    assert "loads code" in problems({prefix + key: "x"})[0]


@BOTH
@pytest.mark.parametrize(
    ("key", "instead"),
    [
        ("sasl.login.callback.handler.class", "sasl.oauthbearer.method=oidc"),
        ("ssl.engine.factory.class", "set ssl.ca.location"),
        ("interceptor.classes", "Remove it"),
        ("key.deserializer", "floe's converters read records. Remove it"),
        ("value.deserializer", "floe's converters read records. Remove it"),
    ],
)
def test_javas_code_names_what_to_set_instead(problems, prefix, key, instead):
    (problem,) = problems({prefix + key: "x"})
    assert instead in problem and "Airflow connection" not in problem


@BOTH
@pytest.mark.parametrize(
    ("key", "value", "instead"),
    [
        ("sasl.jaas.config", "my.Own required;", "PlainLoginModule"),
        ("ssl.truststore.type", "BCFKS", "PKCS12"),
        ("ssl.keystore.type", "BCFKS", "PKCS12"),
    ],
)
def test_java_setting_without_translation_names_what_to_set(problems, prefix, key, value, instead):
    (problem,) = problems({prefix + key: value})
    assert problem.startswith(f"{prefix}{key}: ") and instead in problem


@BOTH
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sasl.jaas.config", f'{PLAIN} required username="u" password="p";'),
        ("ssl.truststore.location", "/trust.jks"),
        ("ssl.keystore.type", "PKCS12"),
        ("ssl.truststore.certificates", "-----BEGIN"),
        ("fetch.max.wait.ms", "100"),
        ("receive.buffer.bytes", "-1"),
        ("ssl.endpoint.identification.algorithm", "https"),
    ],
)
def test_java_setting_with_translation_is_taken(connector, prefix, key, value):
    made = connector({prefix + key: value})
    assert made.warnings == ()
    assert {**made.clients.control, **made.clients.consumer} == {key: value}


def test_brokers_of_control_topic_may_be_set_but_not_of_topics(connector, problems):
    assert connector({"iceberg.kafka.bootstrap.servers": "b:9092"}).clients.control == {"bootstrap.servers": "b:9092"}
    assert "floe.kafka.conn-id" in problems({"consumer.override.bootstrap.servers": "b:9092"})[0]


def test_the_offset_reset_is_read_and_reaches_no_consumer(connector, problems):
    key = "consumer.override.auto.offset.reset"
    made = connector({key: "Latest", "consumer.override.fetch.min.bytes": 1})
    assert made.offset_reset == "latest"
    assert made.clients.consumer == {"fetch.min.bytes": "1"}
    assert "set earliest or latest" in problems({key: "none"})[0]


def test_the_offset_reset_of_the_control_topic_has_no_effect(connector):
    made = connector({"iceberg.kafka.auto.offset.reset": "earliest"})
    assert "iceberg.kafka.auto.offset.reset has no effect" in " ".join(made.warnings)
    assert "auto.offset.reset" not in made.clients.control


@pytest.mark.parametrize(
    ("key", "value"),
    [("security.protocol", "SASL_PLAINTEXT"), ("ssl.endpoint.identification.algorithm", "none")],
)
def test_weak_protection_is_warned_of(connector, key, value):
    assert connector({f"iceberg.kafka.{key}": value}).warnings[0].startswith(f"iceberg.kafka.{key}")


@BOTH
@pytest.mark.parametrize("key", ["max.poll.records", "max.block.ms", "transaction.timeout.ms"])
def test_client_settings_without_effect_are_named(connector, prefix, key):
    made = connector({prefix + key: "5000"})
    assert key not in {**made.clients.control, **made.clients.consumer}
    (warning,) = made.warnings
    assert warning.startswith(f"{prefix}{key} has no effect: ")
