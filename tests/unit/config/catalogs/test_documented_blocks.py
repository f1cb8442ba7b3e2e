"""Catalog blocks as the documentation of their makers has them: taken as they are, or refused by name with what to do."""

from __future__ import annotations

import pytest

from floe.config import parse_connector
from floe.config.exceptions import ConfigError

BASE = {
    "name": "events-sink",
    "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
    "tasks.max": "2",
    "topics": "events",
    "iceberg.tables": "default.events",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
S3_IO = {"io-impl": "org.apache.iceberg.aws.s3.S3FileIO"}
S3A = {"warehouse": "s3a://bucket/warehouse", **S3_IO}

TAKEN = {
    "iceberg, rest": (
        "rest",
        {"type": "rest", "uri": "https://catalog-service", "credential": "c:s", "warehouse": "wh"},
    ),
    "iceberg, hive": (
        "hive",
        {
            "type": "hive",
            "uri": "thrift://hive:9083",
            **S3A,
            "client.region": "us-east-1",
            "s3.access-key-id": "AKIA",
            "s3.secret-access-key": "secret",
        },
    ),
    "iceberg, glue": ("glue", {"catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog", **S3A}),
    "iceberg, glue by type": ("glue", {"type": "glue", "warehouse": "s3://bucket/wh", "client.region": "eu-west-1"}),
    "iceberg, nessie": (
        "nessie",
        {
            "catalog-impl": "org.apache.iceberg.nessie.NessieCatalog",
            "uri": "http://localhost:19120/api/v2",
            "ref": "main",
            **S3A,
        },
    ),
    "nessie, by type": ("nessie", {"type": "nessie", "uri": "http://nessie:19120/api/v1", "ref": "main", **S3A}),
    "iceberg, adls": (
        "rest",
        {
            "type": "rest",
            "uri": "http://catalog:8181",
            "warehouse": "abfss://container@account.dfs.core.windows.net/warehouse",
            "io-impl": "org.apache.iceberg.azure.adlsv2.ADLSFileIO",
            "include-credentials": "true",
        },
    ),
    "iceberg, gcs": (
        "rest",
        {
            "type": "rest",
            "uri": "http://catalog:8181",
            "warehouse": "gs://bucket/warehouse",
            "io-impl": "org.apache.iceberg.gcp.gcs.GCSFileIO",
        },
    ),
    "iceberg, hadoop": ("hadoop", {"type": "hadoop", "warehouse": "file:///warehouse"}),
    "iceberg, jdbc": (
        "sql",
        {
            "type": "jdbc",
            "uri": "jdbc:postgresql://postgres:5432/iceberg",
            "jdbc.user": "iceberg",
            "jdbc.password": "secret",
            "jdbc.schema-version": "V1",
            "warehouse": "s3://bucket/warehouse",
            **S3_IO,
        },
    ),
    "iceberg, jdbc by class": (
        "sql",
        {
            "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            "uri": "jdbc:mysql://db.us-west-2.rds.amazonaws.com:3306/default",
            "jdbc.user": "iceberg",
            "jdbc.password": "secret",
            "jdbc.verifyServerCertificate": "true",
            "jdbc.useSSL": "true",
            "warehouse": "s3://bucket/warehouse",
        },
    ),
    "tabular's quick start with MinIO": (
        "rest",
        {
            "type": "rest",
            "uri": "http://iceberg-rest:8181",
            "client.region": "us-east-1",
            "s3.endpoint": "http://minio:9000",
            "s3.path-style-access": "true",
        },
    ),
    "minio": (
        "rest",
        {
            "type": "rest",
            "uri": "http://rest:8181",
            "warehouse": "s3://warehouse/",
            "s3.endpoint": "http://minio:9000",
            "s3.access-key-id": "admin",
            "s3.secret-access-key": "password",
            "s3.path-style-access": "true",
            "s3.region": "us-east-1",
            **S3_IO,
        },
    ),
    "databricks": (
        "rest",
        {
            "type": "rest",
            "uri": "https://dbc.cloud.databricks.com/api/2.1/unity-catalog/iceberg-rest",
            "oauth2-server-uri": "https://dbc.cloud.databricks.com/oidc/v1/token",
            "token": "dapi0123",
            "warehouse": "main",
        },
    ),
    "databricks, service principal": (
        "rest",
        {
            "type": "rest",
            "uri": "https://dbc.cloud.databricks.com/api/2.1/unity-catalog/iceberg-rest",
            "rest.auth.type": "oauth2",
            "oauth2-server-uri": "https://dbc.cloud.databricks.com/oidc/v1/token",
            "credential": "client:secret",
            "scope": "all-apis",
            "warehouse": "main",
        },
    ),
    "aws, S3 tables": (
        "rest",
        {
            "type": "rest",
            "uri": "https://s3tables.us-east-1.amazonaws.com/iceberg",
            "warehouse": "arn:aws:s3tables:us-east-1:111122223333:bucket/amzn-s3-demo-table-bucket",
            "rest.sigv4-enabled": "true",
            "rest.signing-name": "s3tables",
            "rest.signing-region": "us-east-1",
            **S3_IO,
        },
    ),
    "aws, glue by REST": (
        "rest",
        {
            "type": "rest",
            "uri": "https://glue.us-east-1.amazonaws.com/iceberg",
            "warehouse": "111122223333",
            "rest.auth.type": "sigv4",
            "rest.signing-name": "glue",
            "rest.signing-region": "us-east-1",
            "client.region": "us-east-1",
        },
    ),
    "snowflake, open catalog": (
        "rest",
        {
            "type": "rest",
            "uri": "https://org-acct.snowflakecomputing.com/polaris/api/catalog",
            "credential": "id:secret",
            "warehouse": "lake",
            "scope": "PRINCIPAL_ROLE:ALL",
            "token-refresh-enabled": "true",
            "header.X-Iceberg-Access-Delegation": "vended-credentials",
        },
    ),
    "lakekeeper, keycloak": (
        "rest",
        {
            "type": "rest",
            "uri": "http://lakekeeper:8181/catalog",
            "credential": "spark:secret",
            "oauth2-server-uri": "http://keycloak:8080/realms/iceberg/protocol/openid-connect/token",
            "scope": "lakekeeper",
            "warehouse": "demo",
            "cache-enabled": "false",
        },
    ),
    "s3, role": (
        "rest",
        {
            "type": "rest",
            "uri": "http://rest:8181",
            "warehouse": "s3://bucket/wh",
            "client.region": "eu-west-1",
            "client.factory": "org.apache.iceberg.aws.AssumeRoleAwsClientFactory",
            "client.assume-role.arn": "arn:aws:iam::123:role/floe",
            "client.assume-role.region": "eu-west-1",
            "http-client.type": "apache",
        },
    ),
}
"""By whose documentation has it: the type that it means, and its keys without ``iceberg.catalog.``."""

REFUSED = {
    "bigquery": {"catalog-impl": "org.apache.iceberg.gcp.bigquery.BigQueryMetastoreCatalog", "warehouse": "gs://b/w"},
    "dynamodb": {"catalog-impl": "org.apache.iceberg.aws.dynamodb.DynamoDbCatalog", "warehouse": "s3://b/w"},
    "snowflake": {"catalog-impl": "org.apache.iceberg.snowflake.SnowflakeCatalog", "uri": "jdbc:snowflake://a"},
    "of one's own": {"catalog-impl": "com.example.MyCatalog", "uri": "http://x"},
    "no type": {"uri": "thrift://hive:9083"},
}


def document(keys: dict[str, str]) -> dict[str, object]:
    return {**BASE, **{f"iceberg.catalog.{key}": value for key, value in keys.items()}}


@pytest.mark.parametrize(("kind", "keys"), TAKEN.values(), ids=TAKEN)
def test_documented_block_is_taken_as_it_is(kind: str, keys: dict[str, str]) -> None:
    made = parse_connector(document(keys))
    assert made.catalog.type == kind
    for key, value in keys.items():
        assert key in ("type", "catalog-impl") or made.catalog.properties[key] == value


@pytest.mark.parametrize("keys", REFUSED.values(), ids=REFUSED)
def test_other_catalog_is_refused_by_name(keys: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_connector(document(keys))
    (problem,) = caught.value.problems
    assert (
        keys.get("catalog-impl", "iceberg.catalog.type is not given") in problem
        and "et iceberg.catalog.type to" in problem
    )
