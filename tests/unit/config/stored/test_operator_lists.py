"""What a connector made by REST may not have: hosts, connections, files, code, references that the operator did not list."""

from __future__ import annotations

from pathlib import Path

import pytest

from floe.config import ConfigError, parse_connector
from floe.config.stored.operator_lists import OperatorLists, secret_reference
from floe.config.stored.stored_connector import StoredConnector, parsed
from tests.support.extensions import installed_example, listed_example
from tests.support.rest.connectors import CONNECTORS, HOSTS, IDENTITIES, connector_of

__all__ = ["installed_example", "listed_example"]

LISTS = OperatorLists.of(
    {
        "FLOE_REST_CONNECTORS": "true",
        "FLOE_REST_HOSTS": "catalog.example:8181,s3://lake",
        "FLOE_REST_CONNECTIONS": "lake_*,demo",
    }
)
ENVIRON = {"FLOE_REST_CONNECTORS": "true", "FLOE_REST_HOSTS": HOSTS, "FLOE_REST_CONNECTIONS": IDENTITIES}
OPEN = OperatorLists.of(ENVIRON)


def problem(key: str, value: str) -> str | None:
    return LISTS.problem("one", key, value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("iceberg.catalog.uri", "http://evil.example"),
        ("iceberg.catalog.s3.endpoint", "evil.example"),
        ("iceberg.catalog.s3.proxy-uri", "evil.example:3128"),
        ("iceberg.catalog.oauth2-server-uri", "https://evil.example/token"),
        ("iceberg.kafka.bootstrap.servers", "evil.example:9092"),
        ("iceberg.kafka.metadata.broker.list", "catalog.example:9092,evil.example:9092"),
        ("consumer.override.bootstrap.servers", "evil.example:9092"),
        ("value.converter.schema.registry.url", "http://evil.example"),
        ("consumer.override.sasl.oauthbearer.token.endpoint.url", "https://evil.example"),
        ("iceberg.hadoop.fs.s3a.endpoint", "evil.example"),
        ("iceberg.catalog.warehouse", "s3://evil/x"),
        ("iceberg.tables.auto-create-props.write.data.path", "s3://evil/x"),
        ("iceberg.catalog.anything-new", "https://evil.example"),
        ("iceberg.catalog.uri", "http://evil.example/-----BEGIN"),
    ],
)
def test_host_that_is_not_listed_is_refused(key: str, value: str) -> None:
    assert problem(key, value) is not None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("consumer.override.ssl.truststore.location", "/etc/store.jks"),
        ("consumer.override.ssl.truststore.location", "store.jks"),
        ("consumer.override.ssl.ca.location", "ca.pem"),
        ("consumer.override.sasl.kerberos.keytab", "floe.keytab"),
        ("consumer.override.sasl.jaas.config", 'Krb5LoginModule required keyTab="/etc/krb5.keytab";'),
        ("consumer.override.sasl.jaas.config", "X required file=/run/secrets/x;"),
        ("iceberg.catalog.warehouse", "/tmp/warehouse"),
        ("iceberg.catalog.warehouse", "file:///tmp/warehouse"),
        ("iceberg.catalog.warehouse", "warehouse"),
        ("iceberg.tables.auto-create-props.write.metadata.path", "../x"),
        ("iceberg.catalog.new", "~/x"),
        ("iceberg.catalog.new", "a,/etc/passwd"),
        ("iceberg.catalog.new", "C:\\x"),
        ("iceberg.catalog.new", "FILE:x"),
        ("iceberg.hadoop-conf-dir", "conf"),
        ("consumer.override.sasl.kerberos.kinit.cmd", "sh -c x"),
        ("floe.spark.jars", "x.jar"),
        ("iceberg.catalog.adls.connection-string", "BlobEndpoint=x"),
    ],
)
def test_file_or_command_is_refused(key: str, value: str) -> None:
    assert problem(key, value) is not None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("transforms.t.type", "python:mine.Transform"),
        ("iceberg.catalog.py-catalog-impl", "os.system"),
        ("iceberg.catalog.py-io-impl", "a.B"),
        ("iceberg.catalog.s3.retry-strategy-impl", "a.B"),
        ("iceberg.catalog.auth", "a.B"),
        ("iceberg.catalog.auth.impl", "a.B"),
        ("iceberg.tables.auto-create-props.py-io-impl", "a.B"),
        ("iceberg.table.write-props.write.py-location-provider.impl", "a.B"),
        ("iceberg.kafka.plugin.library.paths", "evil"),
        ("consumer.override.interceptor.classes", "a.B"),
        ("consumer.override.sasl.login.callback.handler.class", "com.example.Handler"),
    ],
)
def test_code_is_refused(key: str, value: str) -> None:
    assert "names code" in (problem(key, value) or "")


@pytest.mark.parametrize(("key", "value"), [setting for one in CONNECTORS.values() for setting in one.items()])
def test_key_that_names_no_code_is_taken(key: str, value: str) -> None:
    assert OPEN.problem("one", key, value) is None


@pytest.mark.parametrize("name", CONNECTORS)
def test_connector_as_people_write_it_is_taken_as_from_a_file(name: str) -> None:
    config = connector_of(name)
    parse_connector(config, default_name="one")
    parsed(StoredConnector("one", config), ENVIRON, ())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("iceberg.catalog.s3.signer", "a.B"),
        ("iceberg.catalog.io-impl", "a.B"),
        ("iceberg.catalog.rest.auth.type", "com.example.Manager"),
        ("iceberg.catalog.client.credentials-provider", "com.example.Provider"),
        ("iceberg.catalog.catalog-impl", "com.example.Catalog"),
        ("value.converter", "com.example.Converter"),
        ("transforms.x.type", "com.example.Transform"),
        ("connector.class", "com.example.Sink"),
    ],
)
def test_name_of_no_list_is_refused_by_its_value(key: str, value: str) -> None:
    more = {"transforms": "x"} if key.startswith("transforms.") else {}
    with pytest.raises(ConfigError) as caught:
        parsed(StoredConnector("one", {**connector_of("plain"), **more, key: value}), ENVIRON, ())
    assert value in str(caught.value)


def test_registry_of_a_listed_host_is_taken_and_another_is_refused_by_its_host() -> None:
    for role, name in (
        ("key", "schema.registry.url"),
        ("value", "schema.registry.url"),
        ("value", "apicurio.registry.url"),
    ):
        key = f"{role}.converter.{name}"
        assert LISTS.problem("one", key, "http://catalog.example:8181") is None
        assert LISTS.problem("one", key, "http://catalog.example:8181,http://evil.example") == (
            "'http://evil.example' is not in FLOE_REST_HOSTS of Airflow's environment: the operator adds it there"
        )


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ('oauth.token.endpoint.uri="https://catalog.example:8181/token"', None),
        (
            'oauth.token.endpoint.uri="https://evil.example/token"',
            "'https://evil.example/token' is not in FLOE_REST_HOSTS",
        ),
        ('oauth.ssl.truststore.location="store.p12"', "names a file"),
        ('anything="/etc/passwd"', "names a file"),
    ],
)
def test_options_of_a_login_are_checked_each(option: str, why: str | None) -> None:
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
    text = f'{module} required oauth.client.id="floe" oauth.client.secret="a/b://c" {option};'
    found = problem("consumer.override.sasl.jaas.config", text)
    assert found is None if why is None else why in (found or "")


def test_certificates_are_a_text_and_no_file() -> None:
    key = "value.converter.apicurio.registry.tls.certificates"
    assert "names a file" in (problem(key, "ca.pem") or "")
    assert problem(key, "-----BEGIN CERTIFICATE-----\n/abc\n-----END CERTIFICATE-----") is None


@pytest.mark.parametrize(
    "value",
    [
        "${env:HOME}",
        "x${file:/etc/passwd:x}",
        "${dir:/run:x}",
        "${conn:prod:password}",
        "${var:x}",
        "${floe:other:iceberg.catalog.token}",
        "${floe:one:iceberg.catalog.other}",
        "a${floe:one:iceberg.catalog.token}",
    ],
)
def test_reference_to_anything_else_is_refused(value: str) -> None:
    assert "no references" in (problem("iceberg.catalog.token", value) or "")


@pytest.mark.parametrize("key", ["iceberg.catalog.uri", "consumer.override.ssl.ca.location", "topics", "tasks.max"])
def test_address_and_key_of_the_dag_are_no_secrets(key: str) -> None:
    assert "no secret" in (problem(key, secret_reference("one", key)) or "")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("iceberg.catalog.token", secret_reference("one", "iceberg.catalog.token")),
        ("iceberg.catalog.uri", "http://catalog.example:8181"),
        ("iceberg.catalog.warehouse", "s3://lake/x"),
        ("iceberg.catalog.s3.secret-access-key", "/begins/with+a/slash"),
        ("iceberg.catalog.credential", "client:a/b://c"),
        ("iceberg.catalog.catalog-impl", "org.apache.iceberg.rest.RESTCatalog"),
        ("consumer.override.sasl.jaas.config", 'PlainLoginModule required username="a" password="b/c";'),
        ("consumer.override.ssl.ca.pem", "-----BEGIN CERTIFICATE-----\n/abc\n-----END CERTIFICATE-----"),
        ("floe.catalog.conn-id", "lake_prod"),
        ("floe.spark.conn-ids", "lake_a, demo"),
        ("iceberg.catalog", "demo"),
        ("topics.regex", "orders[.].*"),
        ("iceberg.tables.default-partition-by", "day(ts),bucket(id, 16)"),
        ("transforms.r.replacement", "$1"),
        ("iceberg.catalog.s3.region", "eu-central-1"),
    ],
)
def test_what_leads_nowhere_else_is_allowed(key: str, value: str) -> None:
    assert problem(key, value) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [("floe.kafka.conn-id", "prod"), ("floe.spark.conn-ids", "demo,prod"), ("iceberg.catalog", "prod")],
)
def test_connection_that_is_not_listed_is_refused(key: str, value: str) -> None:
    assert "'prod' is not in FLOE_REST_CONNECTIONS" in (problem(key, value) or "")


IAM = "software.amazon.msk.auth.iam.IAMLoginModule required"
IDENTITIES = [
    ("iceberg.catalog.client.profile-name", "prod", "aws-profile:prod"),
    ("iceberg.catalog.glue.profile-name", "prod", "aws-profile:prod"),
    ("iceberg.catalog.s3.profile-name", "prod", "aws-profile:prod"),
    ("iceberg.catalog.client.role-arn", "arn:aws:iam::1:role/x", "aws-role:arn:aws:iam::1:role/x"),
    ("iceberg.catalog.client.assume-role.arn", "arn:aws:iam::1:role/x", "aws-role:arn:aws:iam::1:role/x"),
    ("iceberg.catalog.s3.role-arn", "arn:aws:iam::1:role/x", "aws-role:arn:aws:iam::1:role/x"),
    ("iceberg.catalog.gcs.impersonate.service-account", "a@b.iam", "gcp-service-account:a@b.iam"),
    ("iceberg.catalog.hdfs.user", "hdfs", "hdfs-user:hdfs"),
    ("iceberg.catalog.ugi", "hive:x", "hive-user:hive:x"),
    ("iceberg.kafka.sasl.kerberos.principal", "kafka/x", "kerberos-principal:kafka/x"),
    ("iceberg.kafka.sasl.mechanism", "gssapi", "kerberos-identity:default"),
    ("consumer.override.sasl.mechanism", "AWS_MSK_IAM", "aws-identity:default"),
    ("consumer.override.sasl.oauthbearer.metadata.authentication.type", "azure_imds", "azure-identity:default"),
    ("consumer.override.sasl.jaas.config", f'{IAM} awsProfileName="prod";', "aws-profile:prod"),
    ("consumer.override.sasl.jaas.config", f"{IAM} awsRoleArn=arn:x;", "aws-role:arn:x"),
]


@pytest.mark.parametrize(("key", "value", "name"), IDENTITIES)
def test_identity_counts_as_a_connection(key: str, value: str, name: str) -> None:
    assert f"the identity '{name}' is not in FLOE_REST_CONNECTIONS" in (problem(key, value) or "")
    lists = {"FLOE_REST_CONNECTORS": "true", "FLOE_REST_HOSTS": "*"}
    assert OperatorLists.of({**lists, "FLOE_REST_CONNECTIONS": f"demo,{name}"}).problem("one", key, value) is None
    assert OperatorLists.of({**lists, "FLOE_REST_CONNECTIONS": "*"}).problem("one", key, value) is not None


@pytest.mark.parametrize("key", ["rest.auth.type", "rest.auth.sigv4.delegate-auth-type"])
@pytest.mark.parametrize("value", ["Google", "org.apache.iceberg.gcp.auth.GoogleAuthManager"])
def test_identity_of_the_workers_at_google_is_refused(key: str, value: str) -> None:
    assert "'gcp-identity:default' is not in" in (problem(f"iceberg.catalog.{key}", value) or "")


HOST = "https://catalog.example:8181"
ENTRA = {"adls.client-id": "x", "adls.client-secret": "y", "adls.tenant-id": "z"}
STORES = [
    ({"gcs.service.host": HOST}, "gcp-identity:default"),
    ({"gcs.service.host": HOST, "gcs.no-auth": "false"}, "gcp-identity:default"),
    ({"gcs.service.host": HOST, "gcs.no-auth": "yes"}, "gcp-identity:default"),
    ({"gcs.service.host": HOST, "gcs.oauth2.token": " "}, "gcp-identity:default"),
    ({"adls.dfs-storage-authority": "catalog.example:8181"}, "azure-identity:default"),
    ({"adls.blob-storage-authority": "catalog.example:8181"}, "azure-identity:default"),
    # it is of one account, and tables may be at another
    ({"adls.dfs-storage-authority": "catalog.example:8181", "adls.sas-token.lake": "x"}, "azure-identity:default"),
    ({"uri": "jdbc:postgresql://catalog.example:8181/db", "jdbc.user": "u"}, "postgresql-identity:default"),
    ({"uri": "postgresql+psycopg://catalog.example:8181/db"}, "postgresql-identity:default"),
    ({"adls.client-id": "of-a-machine"}, "azure-identity:of-a-machine"),
    ({"adls.client-id": "of-a-machine", "adls.tenant-id": "t"}, "azure-identity:of-a-machine"),
]


@pytest.mark.parametrize(("config", "name"), STORES)
def test_workers_identity_does_not_follow_an_address(config: dict[str, str], name: str) -> None:
    keys = {"iceberg.catalog": "demo", **{f"iceberg.catalog.{key}": value for key, value in config.items()}}
    assert any(f"the identity '{name}' is not in FLOE_REST_CONNECTIONS" in one for one in LISTS.problems("one", keys))
    lists = {"FLOE_REST_CONNECTORS": "true", "FLOE_REST_HOSTS": "*"}
    assert OperatorLists.of({**lists, "FLOE_REST_CONNECTIONS": f"demo,{name}"}).problems("one", keys) == []
    assert OperatorLists.of({**lists, "FLOE_REST_CONNECTIONS": "*"}).problems("one", keys) != []


@pytest.mark.parametrize(
    "config",
    [
        {"gcs.service.host": HOST, "gcs.no-auth": "True"},
        {"gcs.service.host": HOST, "gcs.oauth2.token": secret_reference("one", "iceberg.catalog.gcs.oauth2.token")},
        {"adls.dfs-storage-authority": "catalog.example:8181", **ENTRA},
        ENTRA,
        {"adls.sas-token": "x", "adls.tenant-id": "t"},
        {"uri": "jdbc:postgresql://catalog.example:8181/db", "jdbc.password": "x"},
    ],
)
def test_address_with_a_login_of_the_connector_needs_no_identity(config: dict[str, str]) -> None:
    assert LISTS.problems("one", {f"iceberg.catalog.{key}": value for key, value in config.items()}) == []


@pytest.mark.parametrize(
    ("config", "host"),
    [
        ({"type": "glue"}, "glue.amazonaws.com"),
        ({"type": "Glue", "client.region": "eu-central-1"}, "glue.eu-central-1.amazonaws.com"),
        ({"catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog", "glue.region": "r"}, "glue.r.amazonaws.com"),
        ({"type": "rest", "s3.profile-name": "x", "s3.region": "r"}, "s3.r.amazonaws.com"),
        ({"type": "rest", "client.role-arn": "x"}, "s3.amazonaws.com"),
    ],
)
def test_default_host_of_aws_has_to_be_listed(config: dict[str, str], host: str) -> None:
    keys = {f"iceberg.catalog.{name}": value for name, value in config.items()}
    assert any(f"'https://{host}' is not in FLOE_REST_HOSTS" in one for one in LISTS.problems("one", keys))
    identities = {"FLOE_REST_CONNECTIONS": "demo,aws-profile:x,aws-role:x"}
    assert OperatorLists.of({"FLOE_REST_HOSTS": host, **identities}).problems("one", keys) == []
    assert OperatorLists.of(identities).problems("one", {**keys, "iceberg.catalog": "demo"}) == []


@pytest.mark.parametrize(
    "config",
    [
        {"type": "rest", "s3.access-key-id": "x", "s3.secret-access-key": "y", "warehouse": "lake"},
        {"type": "sql", "warehouse": "s3://lake/x"},
        {"type": "rest", "s3.access-key-id": "x", "s3.endpoint": "http://catalog.example:8181"},
        {"type": "glue", "glue.endpoint": "http://catalog.example:8181"},
    ],
)
def test_place_that_is_listed_needs_no_default_host(config: dict[str, str]) -> None:
    assert LISTS.problems("one", {f"iceberg.catalog.{name}": value for name, value in config.items()}) == []


@pytest.mark.parametrize("key", ["floe.dag.access-control.viewer", "floe.dag.queue", "floe.dag.pool"])
def test_rights_and_places_in_airflow_are_refused(key: str) -> None:
    assert "connector files only" in (problem(key, "can_edit") or "")


def test_catalog_of_names_may_have_a_warehouse_by_name() -> None:
    config = {"iceberg.catalog.type": "rest", "iceberg.catalog.warehouse": "lake"}
    assert LISTS.problems("one", config) == []
    assert LISTS.problems("one", {**config, "iceberg.catalog.type": "sql"}) != []


def test_problem_names_key_value_and_variable_but_no_secret() -> None:
    (text,) = LISTS.problems("one", {"iceberg.catalog.uri": "http://evil.example"})
    assert all(part in text for part in ("iceberg.catalog.uri", "http://evil.example", "FLOE_REST_HOSTS"))
    (text,) = LISTS.problems(
        "one", {"consumer.override.sasl.jaas.config": 'X required keyTab="/x" password="hidden-one";'}
    )
    assert "hidden-one" not in text


def test_nothing_is_allowed_without_the_switch() -> None:
    assert not OperatorLists.of({}).is_enabled
    assert OperatorLists.of({}).problem("one", "iceberg.catalog.uri", "http://catalog.example:8181") is not None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("iceberg.catalog.type", " Example-Folder "),
        ("value.converter", "LineConverter"),
        ("key.converter", "Line"),
        ("transforms.a.b.type", "example.Steer"),
        ("predicates.p.type", "HasField"),
    ],
)
def test_extension_is_listed_by_its_distribution(listed_example: Path, key: str, value: str) -> None:
    keys = {key: value, "value.converter.peer": "evil.example"}
    said = f"{key} {value.strip()!r}: the extension 'extension:floe-example' is not in FLOE_REST_CONNECTIONS"
    assert any(one.startswith(said) for one in LISTS.problems("one", keys))
    for listed, is_allowed in (("*", False), ("extension:other", False), ("extension:floe-*", True)):
        lists = OperatorLists.of({**ENVIRON, "FLOE_REST_CONNECTIONS": listed})
        assert (not any("extension:" in one for one in lists.problems("one", keys))) is is_allowed
    own = {"iceberg.catalog.type": "sql", "value.converter": "JsonConverter", "transforms.x.type": "Cast$Value"}
    assert not any("extension:" in one for one in LISTS.problems("one", own))
