"""Keys of stores as Java's catalogs have them: what PyIceberg gets, what has no effect, what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from floe.config import Connector

Make = Callable[..., Connector]
Problems = Callable[..., tuple[str, ...]]
CATALOG = "iceberg.catalog."
ENDPOINT = {"s3.endpoint": "http://minio:9000"}


def prefixed(keys: dict[str, str]) -> dict[str, str]:
    return {f"{CATALOG}{key}": value for key, value in keys.items()}


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"s3.path-style-access": "true", **ENDPOINT}, {"s3.force-virtual-addressing": "false", **ENDPOINT}),
        ({"s3.path-style-access": "false", **ENDPOINT}, {"s3.force-virtual-addressing": "true", **ENDPOINT}),
        (
            {"s3.path-style-access": "true", "s3.force-virtual-addressing": "true"},
            {"s3.force-virtual-addressing": "true"},
        ),
        ({"client.assume-role.arn": "arn:aws:iam::1:role/r"}, {"client.role-arn": "arn:aws:iam::1:role/r"}),
        ({"client.assume-role.region": "eu-west-1"}, {"client.region": "eu-west-1"}),
        ({"client.assume-role.region": "eu-west-1", "client.region": "us-east-1"}, {"client.region": "us-east-1"}),
        ({"s3.cross-region-access-enabled": "true"}, {"s3.resolve-region": "true"}),
        ({"io-impl": "org.apache.iceberg.aws.s3.S3FileIO", "s3.multipart.size-mb": "32"}, {}),
        (
            {"adls.auth.shared-key.account.name": "acc", "adls.auth.shared-key.account.key": "k"},
            {"adls.account-name": "acc", "adls.account-key": "k"},
        ),
        (
            {"adls.sas-token.acc.dfs.core.windows.net": "sv=1"},
            {"adls.sas-token.acc.dfs.core.windows.net": "sv=1"},
        ),
    ],
)
def test_javas_keys_are_pyicebergs(connector: Make, given: dict[str, str], made: dict[str, str]) -> None:
    found = connector(prefixed({"type": "rest", **given})).catalog
    assert found.for_pyiceberg() == {"type": "rest", **made}
    assert given.items() <= found.for_spark().items()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"io-impl": "com.example.MyIO"}, "'com.example.MyIO' is a class that floe has nothing for"),
        ({"client.factory": "com.example.F"}, "'com.example.F' is a class that floe has nothing for"),
        ({"client.credentials-provider": "com.example.P"}, "is no class of AWS"),
        ({"client.assume-role.external-id": "x"}, "PyIceberg sends no external id"),
        ({"s3.acceleration-enabled": "true"}, "set s3.endpoint to https://s3-accelerate"),
        ({"s3.sse.type": "kms"}, "set it as the bucket's default encryption"),
        ({"s3.acl": "public-read"}, "PyIceberg sets no ACL"),
        ({"s3.path-style-access": "yes"}, "'yes' is neither true nor false"),
        ({"s3.access-points.b": "arn"}, "name the access point's alias as the bucket"),
        ({"adls.connection-string.acc": "AccountName=acc"}, "Set adls.account-name and adls.account-key"),
        ({"adls.account-host": "acc.example"}, "set adls.blob-storage-authority"),
        ({"gcs.impersonate.delegates": "a,b"}, "impersonates one account"),
        ({"gcs.encryption-key": "k"}, "sends no key of yours"),
        ({"table-default.write.format.default": "orc"}, "auto-create-props"),
    ],
)
def test_what_no_store_can_do_is_refused_by_name(problems: Problems, given: dict[str, str], problem: str) -> None:
    (found,) = problems(prefixed({"type": "rest", **given}))
    assert problem in found and found.startswith(CATALOG)


@pytest.mark.parametrize("key", ["s3.acceleration-enabled", "s3.sse.type", "s3.access-grants.enabled", "cache-enabled"])
def test_switches_that_are_off_have_no_effect(connector: Make, key: str) -> None:
    value = "none" if key == "s3.sse.type" else "false"
    (warning,) = connector(prefixed({"type": "rest", key: value})).warnings
    assert warning.startswith(f"{CATALOG}{key} has no effect: ")


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (
            {
                "fs.s3a.access.key": "AKIA",
                "fs.s3a.secret.key": "s3cret",
                "fs.s3a.endpoint": "minio:9000",
                "fs.s3a.connection.ssl.enabled": "false",
                "fs.s3a.path.style.access": "true",
            },
            {
                "s3.access-key-id": "AKIA",
                "s3.secret-access-key": "s3cret",
                "s3.endpoint": "http://minio:9000",
                "s3.path-style-access": "true",
            },
        ),
        ({"fs.s3a.endpoint": "s3.eu-west-1.amazonaws.com"}, {"s3.endpoint": "https://s3.eu-west-1.amazonaws.com"}),
        ({"fs.s3a.endpoint": "http://own:1"}, {"s3.endpoint": "http://own:1"}),
        (
            {"fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"},
            {"s3.anonymous": "true"},
        ),
    ],
)
def test_hadoops_keys_of_s3_are_the_catalogs(connector: Make, given: dict[str, str], made: dict[str, str]) -> None:
    keys = {f"iceberg.hadoop.{key}": value for key, value in given.items()}
    assert dict(connector({**keys, f"{CATALOG}type": "rest"}).catalog.properties) == {"type": "rest", **made}


def test_catalogs_own_keys_count_over_hadoops(connector: Make) -> None:
    keys = {"iceberg.hadoop.fs.s3a.endpoint": "http://hadoop", f"{CATALOG}s3.endpoint": "http://own"}
    assert connector(keys).catalog.properties["s3.endpoint"] == "http://own"


def test_other_keys_of_hadoop_are_named(connector: Make, problems: Problems) -> None:
    (warning,) = connector({"iceberg.hadoop.fs.s3a.fast.upload": "true"}).warnings
    assert warning.startswith("iceberg.hadoop.fs.s3a.fast.upload has no effect: there is no Hadoop in floe")
    assert "is refused" in problems({"iceberg.hadoop.hadoop.security.authentication": "kerberos"})[0]
    assert "writes to no HDFS" in problems({"iceberg.hadoop.fs.defaultFS": "hdfs://nn:8020"})[0]
    assert "Copy the fs.s3a.*" in problems({"iceberg.hadoop-conf-dir": "/etc/hadoop/conf"})[0]
