"""The param ``config``: which keys a run may set, and within what."""

import pytest

from floe.config import ConfigError, KeyClass, OverrideRefused, override, restore_config
from floe.config.keys.key import Status
from floe.config.keys.lookup import KEYS, names_code
from floe.config.overrides.run_keys import LIFTED_VARIABLE, class_of
from tests.support.overrides import CANARY, FILE, LIVE, REPLAY, TOKEN, TWO

CODE = [
    "consumer.override.plugin.library.paths",
    "consumer.override.sasl.kerberos.kinit.cmd",
    "consumer.override.ssl.engine.location",
    "iceberg.catalog.auth",
    "iceberg.catalog.auth.impl",
    "iceberg.catalog.py-catalog-impl",
    "iceberg.catalog.py-io-impl",
    "iceberg.catalog.s3.retry-strategy-impl",
    "iceberg.kafka.interceptor.classes",
    "iceberg.table.write-props.write.py-location-provider.impl",
    "iceberg.tables.auto-create-props.py-io-impl",
    "iceberg.tables.auto-create-props.write.py-location-provider.impl",
    "iceberg.tables.write-props.write.py-location-provider.impl",
]

HANDLER = ".handler.class"
LOOKED_UP = {
    "connector.plugin.version": "1.9.2",
    "header.converter": "org.apache.kafka.connect.storage.StringConverter",
    "iceberg.catalog.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
    "iceberg.hadoop.fs.s3a.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
    "iceberg.kafka.sasl.client.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
}
"""Names that floe looks up in lists of its own, or that have no effect: keys of class file like others."""


FILE_ONLY = [
    "consumer.override.auto.offset.reset",
    "consumer.override.enable.ssl.certificate.verification",
    "consumer.override.partitioner",
    "consumer.override.queued.max.messages.kbytes",
    "consumer.override.receive.message.max.bytes",
    "consumer.override.ssl.ca.location",
    "errors.deadletterqueue.topic.name",
    "errors.tolerance",
    "floe.aws.conn-id",
    "floe.catalog.conn-id",
    "floe.deadletter.max-ratio",
    "floe.deadletter.table",
    "floe.kafka.conn-id",
    "floe.on-data-loss",
    "floe.registry.conn-id",
    "floe.spark.conn-id",
    "iceberg.catalog",
    "iceberg.catalog.adls.account-host",
    "iceberg.catalog.adls.blob-storage-authority",
    "iceberg.catalog.gcs.service.host",
    "iceberg.catalog.hdfs.host",
    "iceberg.catalog.oauth2-server-uri",
    "iceberg.catalog.s3.endpoint",
    "iceberg.catalog.s3.proxy-uri",
    "iceberg.catalog.uri",
    "iceberg.catalog.warehouse",
    "iceberg.connect.group-id",
    "iceberg.control.group-id",
    "iceberg.control.topic",
    "iceberg.coordinator.transactional.prefix",
    "iceberg.kafka.bootstrap.servers",
    "iceberg.kafka.sasl.mechanism",
    "iceberg.kafka.security.protocol",
    "iceberg.kafka.transaction.timeout.ms",
    "iceberg.tables.auto-create-enabled",
    "iceberg.tables.auto-create-props.owner",
    "iceberg.tables.write-props.write.data.path",
    "iceberg.tables.write-props.write.metadata.path",
    "iceberg.tables.write-props.write.unheard.of",
]


def test_a_new_key_is_of_class_file():
    from floe.config.keys.key import KeyType, supported

    assert supported("floe.new", KeyType.STRING, None, "New.").class_of("floe.new") is FILE
    assert class_of("floe.unheard-of") is FILE


def test_each_class_permits_those_before_it():
    assert [[one.permits(other) for other in KeyClass] for one in KeyClass] == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]


@pytest.mark.parametrize("key", CODE)
@pytest.mark.parametrize("lifted", ["", "*"])
def test_a_key_that_names_code_is_refused_to_every_run(connector, monkeypatch, key, lifted):
    monkeypatch.setenv(LIFTED_VARIABLE, f"{lifted},{key}")
    with pytest.raises(OverrideRefused, match="names code") as caught:
        override(connector(), {key: "builtins.exec"}, REPLAY)
    assert key in str(caught.value)


def test_a_transform_in_python_is_refused_to_every_run(connector, monkeypatch):
    monkeypatch.setenv(LIFTED_VARIABLE, "*,transforms.a.type")
    with pytest.raises(OverrideRefused, match="names code"):
        override(connector(), {"transforms": "a", "transforms.a.type": " Python:mine.Transform"}, REPLAY)
    assert not names_code("transforms.a.static.value", "python:mine.Transform")


@pytest.mark.parametrize("key", [key for key in LOOKED_UP if key.endswith(HANDLER)])
def test_a_handler_of_logins_is_never_lifted(connector, monkeypatch, key):
    monkeypatch.setenv(LIFTED_VARIABLE, "*")
    with pytest.raises(OverrideRefused, match="says where logins go: no run may set it"):
        override(connector(), {key: LOOKED_UP[key]}, REPLAY)


@pytest.mark.parametrize(("key", "value"), [one for one in LOOKED_UP.items() if not one[0].endswith(HANDLER)])
def test_a_name_that_is_looked_up_is_of_class_file(connector, monkeypatch, key, value):
    with pytest.raises(OverrideRefused, match="is of class file: no run may set it"):
        override(connector(), {key: value}, REPLAY)
    monkeypatch.setenv(LIFTED_VARIABLE, "*")
    assert override(connector(), {key: value}, REPLAY).properties[key] == value


@pytest.mark.parametrize("key", FILE_ONLY)
@pytest.mark.parametrize("allowed", [LIVE, REPLAY])
def test_a_key_of_class_file_is_refused_with_the_way(connector, key, allowed):
    with pytest.raises(OverrideRefused, match="class file") as caught:
        override(connector(), {key: "x"}, allowed)
    (problem,) = caught.value.problems
    assert problem.startswith(key) and "connector file" in problem and LIFTED_VARIABLE in problem


@pytest.mark.parametrize("entry", [key for key in KEYS if key.status is not Status.SUPPORTED], ids=lambda e: e.name)
def test_no_run_sets_a_key_that_has_no_effect(entry):
    assert entry.key_class is FILE


@pytest.mark.parametrize(
    "over",
    [
        {"tasks.max": 7},
        {"floe.max-records-per-run": 10},
        {"iceberg.control.commit.timeout-ms": 1000},
        {"errors.log.enable": "true"},
        {"consumer.override.fetch.wait.max.ms": "100"},
        {"iceberg.kafka.socket.timeout.ms": "1000"},
        {"iceberg.tables.write-props.write.parquet.compression-codec": "gzip"},
        {"iceberg.tables.write-props.write.metadata.metrics.column.id": "full"},
        {"iceberg.table.write-props.write.target-file-size-bytes": "2000000"},
    ],
)
def test_a_key_of_class_live_is_set_by_every_run(connector, over):
    file = connector(TOKEN)
    for allowed in (LIVE, REPLAY):
        made = override(file, over, allowed)
        assert {key: str(value) for key, value in over.items()}.items() <= made.properties.items()
        assert made.catalog.properties == file.catalog.properties
        assert restore_config(made.frozen(), file) == made


@pytest.mark.parametrize(
    "over",
    [
        {"topics": "a"},
        {"iceberg.tables": "db.one"},
        {"iceberg.tables.evolve-schema-enabled": "true"},
        {"iceberg.tables.schema-case-insensitive": "true"},
        {"floe.schema.on-conflict": "string"},
        {"floe.table.db.one.topics": "b"},
        {"transforms": "m", "transforms.m.include_key": "true"},
        {"transforms": ""},
        {"iceberg.tables.default-commit-branch": "audit"},
    ],
)
def test_a_key_of_class_replay_is_set_by_replays_only(connector, over):
    transform = {"transforms": "m", "transforms.m.type": "KafkaMetadataTransform"}
    file = connector({**TWO, **transform, "iceberg.table.db.one.commit-branch": "audit"})
    made = override(file, over, REPLAY)
    assert over.items() <= made.properties.items()
    with pytest.raises(OverrideRefused, match="is of class replay: a run of this DAG may not set it"):
        override(file, over, LIVE)


def test_runs_of_no_named_class_are_live(connector):
    with pytest.raises(OverrideRefused, match="class replay"):
        override(connector(), {"topics": "completed-pizzas"})


@pytest.mark.parametrize("lifted", ["floe.on-data-loss", "tasks.max, floe.on-data-loss", "floe.*", "*"])
def test_the_operator_lifts_keys(connector, monkeypatch, lifted):
    monkeypatch.setenv(LIFTED_VARIABLE, lifted)
    assert override(connector(), {"floe.on-data-loss": "accept"}).reading.on_data_loss == "accept"


def test_a_lifted_pattern_covers_its_prefix_only(connector, monkeypatch):
    monkeypatch.setenv(LIFTED_VARIABLE, "floe.on*,iceberg.catalog")
    for key in ("floe.deadletter.table", "iceberg.catalog.warehouse"):
        with pytest.raises(OverrideRefused, match="class file"):
            override(connector(), {key: "a.b"})


def test_name_and_secrets_are_never_lifted(connector, monkeypatch):
    monkeypatch.setenv(LIFTED_VARIABLE, "*,name,iceberg.catalog.token")
    with pytest.raises(OverrideRefused) as caught:
        override(connector(), {"name": "x", "iceberg.catalog.token": CANARY})
    assert len(caught.value.problems) == 2 and CANARY not in str(caught.value)


@pytest.mark.parametrize(
    "key", ["floe.dag.owner", "floe.dag.access-control.Op", "floe.schedule", "floe.schedule.timezone"]
)
def test_keys_that_shape_the_dag_are_never_lifted(connector, monkeypatch, key):
    monkeypatch.setenv(LIFTED_VARIABLE, f"*,{key}")
    with pytest.raises(OverrideRefused, match="shapes the DAG: no run may set it") as caught:
        override(connector(), {key: "x"}, REPLAY)
    assert LIFTED_VARIABLE not in str(caught.value)


@pytest.mark.parametrize(
    "key",
    [
        "iceberg.catalog",
        "iceberg.catalog.uri",
        "iceberg.catalog.oauth2-server-uri",
        "iceberg.catalog.s3.endpoint",
        "iceberg.catalog.s3.proxy-uri",
        "iceberg.catalog.adls.account-name",
        "iceberg.catalog.jdbc.sslmode",
        "iceberg.kafka.bootstrap.servers",
        "iceberg.kafka.security.protocol",
        "consumer.override.sasl.mechanism",
        "consumer.override.sasl.oauthbearer.token.endpoint.url",
        "consumer.override.enable.ssl.certificate.verification",
        "consumer.override.https.ca.pem",
        "value.converter.schema.registry.url",
        "value.converter.schema.registry.proxy.host",
        "floe.kafka.conn-id",
        "floe.catalog.conn-id",
        "floe.aws.conn-id",
        "floe.registry.conn-id",
        "floe.spark.conn-id",
    ],
)
def test_keys_that_say_where_logins_go_are_never_lifted(connector, monkeypatch, key):
    monkeypatch.setenv(LIFTED_VARIABLE, f"*,{key},iceberg.*")
    with pytest.raises(OverrideRefused, match=r"says where logins go|names code|secrets do not go"):
        override(connector({"iceberg.catalog.type": "rest"}), {key: "x"}, REPLAY)


def test_thousands_of_refused_keys_are_answered_in_time(connector):
    keys = {f"{prefix}zz{number}": "x" for number in range(3000) for prefix in ("floe.", "iceberg.catalog.")}
    with pytest.raises(OverrideRefused) as caught:
        override(connector(), keys)
    assert caught.value.problems[-1] == "and 5980 more"


def test_a_table_may_be_called_like_a_key_of_code(connector):
    key = "iceberg.table.db.class.route-regex"
    assert not names_code(key)
    file = connector({"iceberg.tables": "db.class", "iceberg.tables.route-field": "a", key: "x"})
    assert override(file, {key: "y"}, REPLAY).table("db.class").route_regex == "y"


@pytest.mark.parametrize(
    ("file", "over", "problem"),
    [
        (TWO, {"topics": "a,c"}, "'c' is not among the connector's topics"),
        (TWO, {"topics.regex": ".*c"}, "topics.regex"),
        ({"topics": "", "topics.regex": "a.*"}, {"topics": "b"}, "'b' is not among the connector's topics"),
        ({"topics": "", "topics.regex": ".*"}, {"topics": "control-iceberg"}, "'control-iceberg' is"),
        ({"topics": "", "topics.regex": ".*"}, {"topics": "__consumer_offsets"}, "'__consumer_offsets' is"),
        ({"topics": "", "topics.regex": "a.*"}, {"topics.regex": "a.+"}, "cannot determine whether it matches fewer"),
        (TWO, {"iceberg.tables": "db.three"}, "'db.three' is not among the connector's tables"),
        (TWO, {"iceberg.tables": "", "floe.route.template": "raw.{topic}"}, "go beyond the connector's"),
        (TWO, {"iceberg.tables.default-commit-branch": "evil"}, "branch 'evil' is not among"),
        (TWO, {"iceberg.table.db.one.commit-branch": "evil"}, "branch 'evil' is not among"),
        (
            {**TWO, "iceberg.table.db.one.commit-branch": "audit"},
            {"iceberg.table.db.one.commit-branch": "main"},
            "branch main: the connector file commits 'db.one' to another branch",
        ),
        (
            {"iceberg.tables.default-commit-branch": "audit"},
            {"iceberg.tables.default-commit-branch": "main"},
            "branch 'main' is not among the connector's branches",
        ),
    ],
)
def test_a_replay_stays_within_what_the_file_names(connector, file, over, problem):
    with pytest.raises(ConfigError, match=r"^param config: ") as caught:
        override(connector(file), over, REPLAY)
    assert problem in str(caught.value)


RAW = {"iceberg.tables": "", "floe.route.by": "key", "floe.route.template": "raw.{value}"}


@pytest.mark.parametrize(
    ("over", "fits"),
    [
        ({"floe.route.template": "raw.x_{value}"}, True),
        (
            {"iceberg.tables": "raw.one", "floe.route.template": "", "floe.table.raw.one.topics": "completed-pizzas"},
            True,
        ),
        ({"floe.route.template": "prod.{value}"}, False),
        ({"floe.route.template": "", "floe.route.namespace": "prod"}, False),
        ({"floe.route.template": "", "iceberg.tables.dynamic-enabled": "true"}, False),
        (
            {"iceberg.tables": "prod.one", "floe.route.template": "", "floe.table.prod.one.topics": "completed-pizzas"},
            False,
        ),
    ],
)
def test_a_replay_stays_within_the_tables_that_records_name(connector, over, fits):
    if fits:
        override(connector(RAW), over, REPLAY)
        return
    with pytest.raises(OverrideRefused, match="connector's"):
        override(connector(RAW), over, REPLAY)


def test_expression_takes_the_matching_topics_of_the_file(connector):
    assert override(connector({"topics": "ab,b,ac"}), {"topics.regex": "a."}, REPLAY).topics == ("ab", "ac")
    with pytest.raises(ConfigError, match="mutually exclusive"):
        override(connector(), {"topics": "completed-pizzas", "topics.regex": "a.*"}, REPLAY)


def test_topics_may_replace_the_expression_of_the_file(connector):
    file = connector({"topics": "", "topics.regex": "a.*"})
    assert override(file, {"topics": "ab"}, REPLAY).topics == ("ab",)


def test_fewer_tables_go_without_the_settings_of_the_others(connector):
    made = override(connector(TWO), {"iceberg.tables": "db.one"}, REPLAY)
    assert made.tables == ("db.one",)
    assert "floe.table.db.two.topics" not in made.properties


def test_fewer_topics_leave_the_settings_of_tables(connector):
    made = override(connector(TWO), {"topics": "a"}, REPLAY)
    assert (made.topics, made.table("db.two").topics) == (("a",), {"b"})


def test_an_override_of_nothing_changes_nothing(connector):
    assert override(connector(), {}) == connector()


def test_an_override_goes_over_the_other_spelling_too(connector):
    size = "write.target-file-size-bytes"
    file = connector({f"iceberg.table.write-props.{size}": "1"})
    assert override(file, {f"iceberg.tables.write-props.{size}": "2000000"}).write_props == {size: "2000000"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("write.target-file-size-bytes", "1"),
        ("write.parquet.row-group-limit", "1"),
        ("write.parquet.compression-codec", "brotli"),
        ("write.parquet.compression-codec", "lz4"),
    ],
)
@pytest.mark.parametrize("spelling", ["iceberg.tables.write-props.", "iceberg.table.write-props."])
def test_a_run_leaves_no_files_that_burden_the_table(connector, spelling, name, value):
    connector({spelling + name: value})
    with pytest.raises(OverrideRefused, match="a run may set"):
        override(connector(), {spelling + name: value})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("iceberg.catalog.token", CANARY),
        ("iceberg.kafka.sasl.password", CANARY),
        ("iceberg.tables.write-props.write.distribution-mode", f"postgresql://a:{CANARY}@b/c"),
    ],
)
def test_a_secret_does_not_go_in_params(connector, key, value):
    with pytest.raises(ConfigError, match="secrets do not go in params") as caught:
        override(connector(), {key: value})
    assert CANARY not in str(caught.value)


def test_the_name_is_not_set_by_a_run(connector):
    with pytest.raises(OverrideRefused, match="name is of class file and cannot be set by a run"):
        override(connector(), {"name": "pizzas"}, REPLAY)


@pytest.mark.parametrize("mapping", [{"tasks.max": "x"}, {"iceberg.tabels": "a.b"}, {"topics": None}, {"config": {}}])
def test_an_override_is_validated_like_the_file(connector, mapping):
    with pytest.raises(ConfigError, match=r"^param config: "):
        override(connector(), mapping)


@pytest.mark.parametrize("mapping", [None, [], "tasks.max=2"])
def test_an_override_that_is_no_object_is_refused(connector, mapping):
    with pytest.raises(ConfigError, match="must be an object"):
        override(connector(), mapping)
