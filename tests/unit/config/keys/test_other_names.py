"""Keys of other tools and of older releases: the answer names the key that means the same, and never one that does not."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from floe.config import Connector
from floe.config.catalogs import other_names as of_catalogs
from floe.config.catalogs.catalog_types import TYPES
from floe.config.keys import other_names
from floe.config.keys.lookup import find
from floe.config.keys.spelling import spelled_as
from floe.config.libraries.library_settings import CATALOG_NAMES, TABLE_NAMES
from floe.config.sections.catalog import _table

CATALOG = "iceberg.catalog."
TABLE = "iceberg.table.rpc.pizzas."
REST = {f"{CATALOG}type": "rest", f"{CATALOG}uri": "http://h"}
OF_TYPE = {
    "rest": REST,
    "nessie": {f"{CATALOG}type": "nessie", f"{CATALOG}uri": "http://h/api/v2"},
    "sql": {f"{CATALOG}type": "sql"},
    "hive": {f"{CATALOG}type": "hive", f"{CATALOG}uri": "thrift://h:9083"},
    "glue": {f"{CATALOG}type": "glue"},
}
Make = Callable[..., Connector]
Problems = Callable[..., tuple[str, ...]]


@pytest.mark.parametrize(
    ("kind", "key", "meant"),
    [
        ("rest", "client-id", "set iceberg.catalog.credential to client-id:client-secret"),
        ("rest", "client-secret", "set iceberg.catalog.credential to client-id:client-secret"),
        ("rest", "oauth2.clientId", "set iceberg.catalog.credential to client-id:client-secret"),
        ("nessie", "client-id", "set iceberg.catalog.authentication.oauth2.client-id"),
        ("sql", "client-id", ": remove it"),
        ("hive", "client-secret", ": remove it"),
        ("rest", "oauth2.token", "set iceberg.catalog.token"),
        ("rest", "bearer-token", "set iceberg.catalog.token"),
        ("rest", "oauth2.credential", "set iceberg.catalog.credential"),
        ("rest", "token-url", "set iceberg.catalog.oauth2-server-uri"),
        ("rest", "oauth2.server-uri", "set iceberg.catalog.oauth2-server-uri"),
        ("rest", "ref", "the end of iceberg.catalog.uri: …/iceberg/BRANCH"),
        ("hive", "ref", "it is of type nessie, and iceberg.catalog.type is hive"),
        ("nessie", "branch", "set iceberg.catalog.ref"),
        ("glue", "branch", "set iceberg.tables.default-commit-branch"),
        ("rest", "jdbc.user", "it is of type sql, and iceberg.catalog.type is rest"),
        ("sql", "username", "set iceberg.catalog.jdbc.user"),
        ("sql", "passwd", "set iceberg.catalog.jdbc.password"),
        ("sql", "jdbc.username", "set iceberg.catalog.jdbc.user"),
        ("rest", "username", "set iceberg.catalog.rest.auth.type to basic"),
        ("glue", "catalog-id", "set iceberg.catalog.glue.id"),
        ("hive", "metastore.uri", "set iceberg.catalog.uri"),
        ("rest", "authentication.type", "set iceberg.catalog.rest.auth.type"),
        ("rest", "vended-credentials-enabled", "header.X-Iceberg-Access-Delegation to vended-credentials"),
        ("rest", "headers.X-Team", "set iceberg.catalog.header.X-Team"),
        ("rest", "region", "set iceberg.catalog.client.region"),
        ("rest", "s3.access_key", "set iceberg.catalog.s3.access-key-id"),
        ("rest", "s3.secret.key", "set iceberg.catalog.s3.secret-access-key"),
        ("rest", "s3.signing-region", ": remove it"),
        ("rest", "fs.s3a.endpoint", "set iceberg.hadoop.fs.s3a.endpoint"),
        ("rest", "gcs.credentials-file", "set GOOGLE_APPLICATION_CREDENTIALS"),
        ("rest", "s3.tokn", ": remove it"),
    ],
)
def test_setting_of_a_catalog_is_answered_by_its_meaning(problems: Problems, kind: str, key: str, meant: str) -> None:
    (problem,) = problems({**OF_TYPE[kind], f"{CATALOG}{key}": "x"})
    assert f"{CATALOG}{key} is " in problem and meant in problem
    assert "adls" not in problem and "gcs.oauth2" not in problem


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("auth.type", "set iceberg.catalog.rest.auth.type"),
        ("auth.credential", "set iceberg.catalog.credential"),
        ("auth.client-id", "set iceberg.catalog.credential to client-id:client-secret"),
        ("auth.impl", "remove it, or set PYICEBERG_CATALOG__<NAME>__…"),
    ],
)
def test_login_in_the_place_of_code_is_answered_by_its_meaning(problems: Problems, key: str, meant: str) -> None:
    (problem,) = problems({**REST, f"{CATALOG}{key}": "oauth2"})
    assert problem.startswith(f"{CATALOG}{key} names code: only the operator's environment does; {meant}")


@pytest.mark.parametrize(
    ("kind", "key"),
    [("hive", "token"), ("glue", "credential"), ("sql", "prefix"), ("hive", "header.X"), ("rest", "echo")],
)
def test_setting_that_another_type_reads_is_warned_of(connector: Make, kind: str, key: str) -> None:
    (warning,) = connector({**OF_TYPE[kind], f"{CATALOG}{key}": "x"}).warnings
    assert f"{key} has no effect: it is of " in warning and warning.endswith(f"and {CATALOG}type is {kind}")


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        (f"{TABLE}sort-by", "set floe.table.rpc.pizzas.sort-by"),
        (f"{TABLE}sortOrder", "set floe.table.rpc.pizzas.sort-by"),
        (f"{TABLE}topics", "set floe.table.rpc.pizzas.topics"),
        ("floe.table.rpc.pizzas.partition-by", f"set {TABLE}partition-by"),
        (f"{TABLE}partitioning", f"set {TABLE}partition-by"),
        (f"{TABLE}primary-key", f"set {TABLE}id-columns"),
        (f"{TABLE}branch", f"set {TABLE}commit-branch"),
        (f"{TABLE}routeRegex", f"the nearest known key is {TABLE}route-regex"),
        (f"{TABLE}routeValues", f"set {TABLE}route-regex, to the values with | between"),
        (f"{TABLE}route.regex", f"the nearest known key is {TABLE}route-regex"),
        (f"{TABLE}commit.branch", f"the nearest known key is {TABLE}commit-branch"),
        (f"{TABLE}sort.by", "set floe.table.rpc.pizzas.sort-by"),
        ("floe.table.rpc.pizzas.sort.by", "the nearest known key is floe.table.rpc.pizzas.sort-by"),
        (f"{TABLE}commit-brnch", f"the nearest known key is {TABLE}commit-branch"),
        (f"{TABLE}colour", "a table has route-regex, commit-branch, partition-by, id-columns with iceberg.table."),
        ("iceberg.tables.mapping", "set floe.table.<table>.topics for each table"),
        ("iceberg.tables.topicToTableMapping", "set floe.table.<table>.topics for each table"),
        ("iceberg.tables.routeField", "the nearest known key is iceberg.tables.route-field"),
        ("iceberg.tables.cdcField", "floe does not support it: Comes with upserts."),
        ("iceberg.tables.upsertModeEnabled", "floe does not support it: Comes with upserts."),
        ("iceberg.tables.dynamic.enabled", "set iceberg.tables.dynamic-enabled"),
        ("iceberg.tables.dynamic.namePrefix", "set floe.route.template to the prefix and {value}"),
        ("iceberg.control.commitTimeoutMs", "the nearest known key is iceberg.control.commit.timeout-ms"),
        ("iceberg.control.group.id", "the nearest known key is iceberg.control.group-id"),
        ("iceberg.table.commitIntervalMs", "set iceberg.control.commit.interval-ms"),
        ("iceberg.control.commit.interval-sec", "set iceberg.control.commit.interval-ms, in milliseconds"),
        ("iceberg.tables.schema-evolution-enabled", "set iceberg.tables.evolve-schema-enabled"),
        ("iceberg.tables.default-sort-by", "set floe.table.<table>.sort-by"),
        ("iceberg.rest-catalog.oauth2.token", "set iceberg.catalog.token"),
        ("iceberg.jdbc-catalog.connection-user", "set iceberg.catalog.jdbc.user"),
        ("iceberg.catalog-impl", "set iceberg.catalog.catalog-impl"),
        ("floe.deadletter.topic", "set errors.deadletterqueue.topic.name"),
        ("errors.deadletterqueue.topic", "set errors.deadletterqueue.topic.name"),
        ("errors.log.enabled", "set errors.log.enable"),
        ("errors.retry.limit", "Airflow tries tasks again: set floe.dag.retries"),
        ("floe.max-records", "set floe.max-records-per-run"),
        ("iceberg.write-props.write.format.default", "set iceberg.tables.write-props.write.format.default"),
        (
            "iceberg.table.auto-create-props.write.format.default",
            "set iceberg.tables.auto-create-props.write.format.default",
        ),
        ("iceberg.table-default.write.format.default", "set iceberg.tables.auto-create-props.write.format.default"),
        ("iceberg.control.commit.timeout", "the nearest known key is iceberg.control.commit.timeout-ms"),
        ("iceberg.fs.s3a.endpoint", "set iceberg.hadoop.fs.s3a.endpoint"),
        ("floe.dag.paused", "set floe.dag.is-paused"),
        ("floe.schema.case-sensitive", "set floe.schema.case"),
        ("valueConverter", "the nearest known key is value.converter"),
        ("floe.x", "there is no such key, nor one that means it: remove it"),
        ("iceberg.zzz", "there is no such key, nor one that means it: remove it"),
    ],
)
def test_key_is_answered_by_its_meaning(problems: Problems, key: str, meant: str) -> None:
    (problem,) = problems({key: "x"})
    assert problem.startswith(f"unknown key {key!r}; ") and meant in problem


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("schema.registry.url", "set value.converter.schema.registry.url"),
        ("auto.offset.reset", "set consumer.override.auto.offset.reset"),
        ("bootstrap.servers", "floe.kafka.conn-id"),
        ("topic2table.map", "set floe.table.<table>.topics"),
        ("spark.sql.catalog.lake.uri", "set iceberg.catalog.uri"),
        ("catalog-type", "set iceberg.catalog.type"),
        ("table.auto-create", "set iceberg.tables.auto-create-enabled"),
    ],
)
def test_key_of_another_tool_has_no_effect_and_the_key_that_has(connector: Make, key: str, meant: str) -> None:
    (warning,) = connector({key: "x"}).warnings
    assert warning.startswith(f"{key!r} is no key of floe") and "it has no effect; " in warning and meant in warning


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("value.converter.schemas.enabled", "value.converter.schemas.enable"),
        ("value.converter.schema.enable", "value.converter.schemas.enable"),
        ("value.converter.schemasEnable", "value.converter.schemas.enable"),
        ("value.converter.replace.nulls.with.default", "value.converter.replace.null.with.default"),
    ],
)
def test_option_of_a_converter_that_is_misspelt_is_refused(problems: Problems, wrong: str, right: str) -> None:
    """The default would hold without a word: with schemas, each record of plain JSON is rejected."""
    found = problems({wrong: "false"}, ("value.converter.schemas.enable",))
    assert found == (f"unknown key {wrong!r}; the nearest known key is {right}",)


@pytest.mark.parametrize("wrong", ["schema.registry.urls", "schema.registry.ur", "schemaRegistry.url"])
def test_option_of_a_registry_that_is_misspelt_is_refused(problems: Problems, wrong: str) -> None:
    avro = {"value.converter": "io.confluent.connect.avro.AvroConverter", f"value.converter.{wrong}": "http://h"}
    found = problems(avro, ("value.converter.schemas.enable",))
    right = "value.converter.schema.registry.url"
    assert f"unknown key 'value.converter.{wrong}'; the nearest known key is {right}" in found


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("iceberg.hadoop.fs.s3a.acess.key", "the nearest known key is iceberg.hadoop.fs.s3a.access.key"),
        ("iceberg.hadoop.fs.s3a.endpoint-region", "the nearest known key is iceberg.hadoop.fs.s3a.endpoint.region"),
        ("consumer.override.fetch.min.byte", "the nearest known one is consumer.override.fetch.min.bytes"),
        ("consumer.override.max.poll.record", "the nearest known one is consumer.override.max.poll.records"),
        ("iceberg.tables.auto-create-props.format.version", "auto-create-props.format-version"),
        ("iceberg.tables.auto-create-props.formatVersion", "auto-create-props.format-version"),
        ("iceberg.tables.auto-create-props.wirte.format.default", "auto-create-props.write.format.default"),
        ("iceberg.tables.auto-create-props.file-format", "set iceberg.tables.auto-create-props.write.format.default"),
        ("iceberg.tables.auto-create-props.partition-by", "set iceberg.tables.default-partition-by"),
    ],
)
def test_setting_that_a_family_would_take_is_refused_if_misspelt(problems: Problems, key: str, problem: str) -> None:
    (found,) = problems({key: "2"})
    assert key in found and found.endswith(problem)


@pytest.mark.parametrize(
    ("key", "near"),
    [("hive.metastore.use.ssl", "hive.metastore.use.SSL"), ("hive.metastore.sasl", None), ("hive.metastore.x", None)],
)
def test_pattern_without_effect_takes_no_misspelt_setting(
    connector: Make, problems: Problems, key: str, near: str | None
) -> None:
    given = {**OF_TYPE["hive"], f"{CATALOG}{key}": "true"}
    if near is None:
        assert connector(given).warnings
    else:
        assert problems(given) == (f"unknown key {CATALOG}{key}; the nearest known key is {CATALOG}{near}",)


def test_misspelt_header_that_asks_for_credentials_is_refused(problems: Problems) -> None:
    (problem,) = problems({**REST, f"{CATALOG}header.X-Iceberg-Acces-Delegation": "vended-credentials"})
    assert problem.endswith(f"the nearest known key is {CATALOG}header.x-iceberg-access-delegation")


@pytest.mark.parametrize(
    ("kind", "key", "meant"),
    [
        ("ReplaceField$Value", "blacklist", "exclude"),
        ("ReplaceField$Value", "whitelist", "include"),
        ("InsertField$Value", "timestamp", "timestamp.field"),
        ("TimestampConverter$Value", "target.format", "format"),
        ("MaskField$Value", "field", "fields"),
        ("MaskField$Value", "colour", None),
    ],
)
def test_key_of_a_transform_is_answered_by_its_meaning(
    problems: Problems, kind: str, key: str, meant: str | None
) -> None:
    found = problems(
        {
            "transforms": "t",
            "transforms.t.type": f"org.apache.kafka.connect.transforms.{kind}",
            f"transforms.t.{key}": "x",
        }
    )
    problem = next(one for one in found if one.startswith("unknown key"))
    assert problem.endswith(f"; did you mean transforms.t.{meant}?") if meant else "did you mean" not in problem


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("io.debezium.transforms.UnwrapFromEnvelope", "set io.debezium.transforms.ExtractNewRecordState"),
        ("io.debezium.transforms.ExtractNewRecordStat", "did you mean io.debezium.transforms.ExtractNewRecordState?"),
        ("io.confluent.connect.transforms.Filter$Value", "goes by a condition on fields"),
        ("io.debezium.transforms.ByLogicalTableRouter", "remove it, or transform upstream"),
        ("io.confluent.connect.transforms.MessageTimestampRouter", "remove it, or transform upstream"),
    ],
)
def test_class_of_a_transform_is_answered_by_its_meaning(problems: Problems, name: str, meant: str) -> None:
    (problem,) = problems({"transforms": "t", "transforms.t.type": name})
    assert meant in problem


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("TopicNameMatch", "did you mean org.apache.kafka.connect.transforms.predicates.TopicNameMatches?"),
        ("X", "set one"),
    ],
)
def test_class_of_a_predicate_is_answered_by_its_meaning(problems: Problems, name: str, meant: str) -> None:
    found = problems({"predicates": "p", "predicates.p.type": name})
    assert any(f"; {meant}" in problem for problem in found)


# -- the tables themselves ----------------------------------------------------------------------------------------------

_KEY = re.compile(r"(?:^set |[ ,])((?:iceberg|floe|errors|value|key|topics|consumer|tasks|name)\b[\w.<>{}-]*)")


def named(text: str) -> list[str]:
    return [key.rstrip(".,") for key in _KEY.findall(text) if "." in key]


@pytest.mark.parametrize("text", sorted({*other_names._BY_LETTERS.values(), *other_names._SETTINGS.values()}))
def test_each_key_of_the_table_that_is_proposed_exists(text: str) -> None:
    for key in named(text):
        assert find(key.replace("<table>", "a.b").replace("{}", "a.b")) is not None, key


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_each_setting_of_a_catalog_that_is_proposed_exists(kind: str) -> None:
    table = _table(TYPES[kind])
    own = of_catalogs._BY_TYPE.get(kind, {}).values()
    for key in {*own, *of_catalogs._ALL.values()} - {"type", "catalog-impl"}:
        assert key in CATALOG_NAMES or table.rows_of([key]), key


def test_each_property_that_is_proposed_exists() -> None:
    for name in other_names._PROPERTIES.values():
        assert name in TABLE_NAMES or find(name.replace("<table>", "a.b")) is not None, name


@pytest.mark.parametrize("names", [other_names._SINK, other_names._OTHERS], ids=["sink", "others"])
def test_no_key_of_the_table_is_known_itself(names: dict[str, str]) -> None:
    """A key that a pattern takes never reaches this table."""
    assert [key for key in names if find(key) is not None and not key.startswith("consumer.override.")] == []


@pytest.mark.parametrize(
    ("text", "known", "meant"),
    [
        ("s3.max-size", ("s3.min-size", "s3.max-wait"), None),
        ("client-id", ("adls.client-id",), None),
        ("fetch.size", ("fetch.sizes", "fetch.bytes"), "fetch.sizes"),
        ("tokem", ("token", "tokens.x"), "token"),
        ("aaab", ("aaac", "aaad"), None),
    ],
)
def test_a_spelling_never_has_another_meaning(text: str, known: tuple[str, ...], meant: str | None) -> None:
    assert spelled_as(text, known) == meant
