"""Locations and logins of Azure's and Google's stores, as Arrow's clients get them."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime

import pytest
from pyarrow.fs import AzureFileSystem, GcsFileSystem
from pyiceberg.io import load_file_io

from floe.catalogs import pyiceberg_patches
from floe.catalogs.cloud_file_io import AzureFileIO, GcsFileIO, azure_arguments
from floe.catalogs.cloud_file_io import gcs_arguments as google
from floe.catalogs.code_guard import CLOUD_FILE_IOS, FILE_IO, check_class
from floe.catalogs.exceptions import StoreAddressRefused, TableUnsuitable
from floe.catalogs.table_trust import check_table_answer
from floe.config import ConfigError, parse_connector
from floe.config.catalogs.store_address import location_problem, setting_problems
from floe.config.stored.operator_lists import OperatorLists
from tests.support.connectors import MINIMAL

HOST = "acc.dfs.core.windows.net"
AZURES = {"blob_storage_authority": ".blob.core.windows.net", "dfs_storage_authority": ".dfs.core.windows.net"}


@pytest.mark.parametrize(
    ("location", "parsed"),
    [
        (f"abfss://c@{HOST}/a/b.parquet", ("abfss", f"c@{HOST}", "c/a/b.parquet")),
        ("wasbs://c@acc.blob.core.windows.net/a", ("wasbs", "c@acc.blob.core.windows.net", "c/a")),
        ("abfs://c/a/b", ("abfs", "c", "c/a/b")),
        (f"abfss://c@{HOST}", ("abfss", f"c@{HOST}", "c")),
    ],
)
def test_location_names_container_and_account(location: str, parsed: tuple[str, str, str]) -> None:
    assert AzureFileIO.parse_location(location) == parsed


@pytest.mark.parametrize(
    ("properties", "login"),
    [
        ({}, {}),
        ({"adls.account-key": "k"}, {"account_key": "k"}),
        ({"adls.account-name": "acc", "adls.account-key": "k"}, {"account_key": "k"}),
        ({"adls.account-name": "other", "adls.account-key": "k", "adls.sas-token": "t"}, {}),
        ({"adls.account-key": "k", "adls.sas-token": "sv=1"}, {"sas_token": "?sv=1"}),
        ({"adls.sas-token": "?sv=1"}, {"sas_token": "?sv=1"}),
        ({f"adls.sas-token.{HOST}": "sv=2", "adls.sas-token": "sv=1"}, {"sas_token": "?sv=2"}),
        ({"adls.sas-token.acc": "sv=3", "adls.sas-token.other": "sv=4"}, {"sas_token": "?sv=3"}),
        ({"adls.sas-token.other": "sv=4"}, {}),
        ({"adls.client-id": "i"}, {"client_id": "i"}),
        (
            {"adls.client-id": "i", "adls.client-secret": "s", "adls.tenant-id": "t"},
            {"client_id": "i", "client_secret": "s", "tenant_id": "t"},
        ),
    ],
)
def test_each_account_has_its_own_login(properties: dict[str, str], login: dict[str, str]) -> None:
    assert azure_arguments(HOST, properties) == {"account_name": "acc", **AZURES, **login}


@pytest.mark.parametrize(
    ("warehouse", "login"),
    [
        (f"abfss://c@{HOST}/w", {"sas_token": "?sv=1"}),
        ("ABFSS://c@ACC.dfs.core.windows.net/w", {"sas_token": "?sv=1"}),
        ("abfss://c@ours.dfs.core.windows.net/w", {}),
        ("wasbs://c@ours.blob.core.windows.net/w", {}),
        ("a-name-in-a-rest-catalog", {"sas_token": "?sv=1"}),
        ("s3://bucket/w", {"sas_token": "?sv=1"}),
    ],
)
def test_plain_token_is_of_the_warehouses_account(warehouse: str, login: dict[str, str]) -> None:
    # a table's location is what its owner says: another account does not get the warehouse's token
    made = azure_arguments(HOST, {"adls.sas-token": "sv=1", "warehouse": warehouse})
    assert made == {"account_name": "acc", **AZURES, **login}


def test_other_clouds_of_azure_have_their_own_addresses() -> None:
    made = azure_arguments("acc.dfs.core.usgovcloudapi.net", {})
    assert made["blob_storage_authority"] == ".blob.core.usgovcloudapi.net"
    assert azure_arguments("acc.z01.dfs.storage.azure.net", {})["dfs_storage_authority"] == ".z01.dfs.storage.azure.net"


@pytest.mark.parametrize(
    "host", ["acc.evil.example", "acc.dfs.core.windows.net.evil.example", "acc.dfs.example", "127.0.0.1"]
)
def test_no_login_is_sent_to_a_host_that_is_not_azures(host: str) -> None:
    with pytest.raises(ValueError, match="no host of Azure's storage: credentials are not sent there"):
        azure_arguments(host, {"adls.sas-token": "sv=1"})


def test_host_counts_in_any_case() -> None:
    AzureFileIO({"adls.account-key": "aw=="}).file_system("abfss", "c@Acc.DFS.Core.Windows.Net")


@pytest.mark.parametrize("location", ["abfss://c@/a", "abfss://c@:443/a", "abfss://@/a", "abfss:///a"])
def test_location_without_an_account_is_refused(location: str) -> None:
    with pytest.raises(ValueError, match=r"is no container@account"):
        AzureFileIO({"adls.sas-token": "sv=1"}).new_input(location)


def test_address_that_is_set_counts_for_all_accounts() -> None:
    given = {"adls.blob-storage-authority": "127.0.0.1:10000", "adls.blob-storage-scheme": "http"}
    made = {"blob_storage_authority": "127.0.0.1:10000", "blob_storage_scheme": "http"}
    assert azure_arguments(HOST, given) == {"account_name": "acc", **made}


@pytest.mark.parametrize(
    ("host", "properties", "message"),
    [
        ("", {}, "names no account"),
        (HOST, {"adls.client-id": "i", "adls.client-secret": "s"}, "set adls.tenant-id too"),
        (HOST, {"adls.tenant-id": "t"}, "set adls.client-id, adls.client-secret too"),
    ],
)
def test_login_that_is_not_whole_is_refused(host: str, properties: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        azure_arguments(host, properties)


@pytest.mark.parametrize(
    ("properties", "login"),
    [
        ({}, {}),
        ({"gcs.no-auth": "true", "gcs.oauth2.token": "t"}, {"anonymous": True}),
        (
            {"gcs.oauth2.token": "t", "gcs.oauth2.token-expires-at": "1000"},
            {"access_token": "t", "credential_token_expiration": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)},
        ),
        ({"gcs.impersonate.service-account": "a@p"}, {"target_service_account": "a@p"}),
        ({"gcs.service.host": "http://127.0.0.1:1"}, {"scheme": "http", "endpoint_override": "127.0.0.1:1"}),
    ],
)
def test_logins_of_google(properties: dict[str, str], login: dict[str, object]) -> None:
    made = google(properties)
    del made["retry_time_limit"]
    assert made == login


def test_token_of_google_without_an_end_is_taken() -> None:
    assert google({"gcs.oauth2.token": "t"})["credential_token_expiration"].year == 9999


def test_host_of_google_without_a_scheme_is_refused() -> None:
    with pytest.raises(ValueError, match=r"gcs\.service\.host is 'localhost:4443'"):
        google({"gcs.service.host": "localhost:4443"})


@pytest.mark.parametrize("scheme", CLOUD_FILE_IOS)
def test_scheme_has_its_file_io_also_in_a_worker(scheme: str) -> None:
    pyiceberg_patches.apply()
    properties = {"adls.account-key": "aw==", "gcs.no-auth": "true"}
    place = "bucket" if scheme == "gs" else f"c@{HOST}"
    io = pickle.loads(pickle.dumps(load_file_io(properties, f"{scheme}://{place}/a")))  # noqa: S301 - its own
    assert isinstance(io, GcsFileIO if scheme == "gs" else AzureFileIO)
    system = io.fs_by_scheme(scheme, place)
    assert isinstance(system, GcsFileSystem if scheme == "gs" else AzureFileSystem)
    check_class(FILE_IO, CLOUD_FILE_IOS[scheme])


BAD_PLACES = [
    *(
        f"abfss://{place}/a"
        for place in ("c@a:x.dfs.core.windows.net", "c@acc.dfs.core.windows.net:99999", "c:p@acc.dfs.core")
    ),
    *(
        f"abfss://{place}/a"
        for place in (f"c@{HOST}:443", "c@evil.example%2f", "c@a@b", "c@[::1]", "c\\d@acc", "c@.dfs.x")
    ),
    *("wasbs://c@acc:0.blob.core.windows.net/a", "abfs://c@a..b/x", "gs://bucket:99999/a", "gs://a@b/c", "gs:///a"),
    *(
        "s3://bucket:99999/a",
        "s3a://user:secret@bucket/a",
        "s3://b%2Fevil/a",
        "hdfs://h:99999/a",
        "hdfs://h:x/a",
        "s3://é/a",
    ),
]


@pytest.mark.parametrize("location", BAD_PLACES)
def test_location_that_is_no_address_is_refused_before_a_client_sees_it(location: str) -> None:
    pyiceberg_patches.apply()
    with pytest.raises(StoreAddressRefused, match="is refused"):
        load_file_io({"adls.sas-token": "sv=1", "s3.region": "x"}, location).new_input(location)
    with pytest.raises(ConfigError, match="warehouse: "):
        parse_connector({**MINIMAL, "iceberg.catalog.uri": "sqlite:////c", "iceberg.catalog.warehouse": location})


BAD_SETTINGS = [
    *(
        ("adls.account-name", value)
        for value in ("127.0.0.1:1/", "a.evil.example/", "ab", "Acc", "a@b", "a" * 25, "acc#")
    ),
    *(("s3.region", value) for value in ("x.evil.example/", "eu west", "a" * 64, "a@b")),
    *(("client.region", value) for value in ("evil.example#", "x/..")),
    *(
        ("s3.endpoint", value)
        for value in ("http://h:99999", "http://h:x", "http://", "http://h x/", "h:0", "http://[::1")
    ),
    *(("gcs.service.host", value) for value in ("http://h:99999", "https://a@b:0", "http://a_/:1")),
    *(("adls.blob-storage-authority", value) for value in ("127.0.0.1:99999", "h:x", "h/p", "a@h")),
    *(("adls.tenant-id", value) for value in ("../x", "a/b", "a@evil.example", "a#")),
    *(("hdfs.port", value) for value in ("99999", "x", "0", "-1")),
    *(("hdfs.host", value) for value in ("h/x", "a@b", "h:1")),
    *(("adls.dfs-storage-scheme", value) for value in ("file", "http://h")),
]


@pytest.mark.parametrize(("key", "value"), BAD_SETTINGS)
def test_setting_that_makes_no_address_is_refused_whoever_gives_it(key: str, value: str) -> None:
    pyiceberg_patches.apply()
    with pytest.raises(StoreAddressRefused, match=f"{key} is refused"):
        load_file_io({key: value}, f"abfss://c@{HOST}/a")
    with pytest.raises(ConfigError, match=key):
        parse_connector({**MINIMAL, "iceberg.catalog.uri": "sqlite:////c", f"iceberg.catalog.{key}": value})
    with pytest.raises(TableUnsuitable, match=key):
        check_table_answer("db.t", {key: value, "adls.sas-token": "t", "gcs.oauth2.token": "t"}, {})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("adls.account-name", "devstoreaccount1"),
        ("adls.blob-storage-authority", ".blob.core.windows.net"),
        ("adls.dfs-storage-authority", "127.0.0.1:10000"),
        ("s3.endpoint", "http://127.0.0.1:9000/"),
        ("s3.endpoint", "minio:9000"),
        ("s3.endpoint", "https://[::1]:443"),
        ("gcs.service.host", "https://storage.googleapis.com"),
        ("s3.region", "us-gov-west-1"),
        ("s3.region", "auto"),
    ],
)
def test_setting_that_makes_an_address_is_taken(key: str, value: str) -> None:
    assert list(setting_problems({key: value})) == []


@pytest.mark.parametrize(
    "location",
    [
        "s3://b-1.x_y/p",
        "s3://acc-12ab-s3alias/p",
        "gs://b/p",
        "hdfs:///p",
        "hdfs://nn:8020/p",
        "hdfs://service/p",
        "file:///p",
    ],
)
def test_location_that_is_an_address_is_taken(location: str) -> None:
    assert location_problem(location) is None


@pytest.mark.parametrize(
    "location",
    [
        "s3://id:CANARY@b",
        "abfss://c:CANARY@acc.dfs.core.windows.net/a",
        "gs://CANARY@b",
        "s3://id:CANARY@[",
        "hdfs://u:CANARY@h:0/",
    ],
)
def test_login_in_a_location_is_not_told(location: str) -> None:
    problem = location_problem(location)
    assert problem is not None
    assert "CANARY" not in problem


@pytest.mark.parametrize("account", ["127.0.0.1:1/", "a.b", "", "é" * 3])
def test_token_goes_to_no_host_that_a_name_makes(account: str) -> None:
    with pytest.raises(ValueError, match=r"no account of Azure|names no account"):
        azure_arguments("", {"adls.account-name": account, "adls.sas-token": "sv=1"})


def test_account_of_a_catalogs_answer_is_an_address() -> None:
    with pytest.raises(TableUnsuitable, match=r"adls\.account-name and no credentials for it"):
        check_table_answer("db.t", {"adls.account-name": "other"}, {"adls.sas-token": "of-the-operator"})
    with pytest.raises(TableUnsuitable, match="a line break or another control character"):
        check_table_answer("db.t", {"s3.session-token": "a\r\nX-Evil: 1"}, {})


def test_account_of_a_connector_made_by_rest_is_in_the_operators_list() -> None:
    lists = OperatorLists.of({"FLOE_REST_CONNECTORS": "true", "FLOE_REST_HOSTS": "ours.dfs.core.windows.net"})
    assert lists.problem("c", "iceberg.catalog.adls.account-name", "ours") is None
    for key in ("iceberg.catalog.adls.account-name", "iceberg.catalog.adls.auth.shared-key.account.name"):
        assert lists.problem("c", key, "theirs") is not None
        assert lists.problem("c", key, "evil.example/") is not None
