"""Code that a table's properties name: never loaded, unless it is PyIceberg's own or the operator's environment names it."""

import importlib
import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import pyiceberg
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.rest.auth import AuthManagerFactory
from pyiceberg.io import load_file_io
from pyiceberg.schema import Schema
from pyiceberg.table.locations import load_location_provider
from pyiceberg.types import LongType, NestedField

from floe.catalogs import pyiceberg_patches
from floe.catalogs.code_guard import FILE_IO, LOCATION_PROVIDER, RETRY_STRATEGY
from floe.catalogs.exceptions import CatalogMisconfigured, CodeRefused, TableUnsuitable
from floe.catalogs.table_trust import check_catalog_answer, check_table_answer
from floe.tables.exceptions import REFUSALS

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))
NAME = "rpc.pizzas"
RAN: list[object] = []


class Ran:
    """A class that notes that it was made."""

    def __init__(self, *args: object) -> None:
        RAN.append(args)


HERE = f"{__name__}.Ran"


@pytest.fixture(autouse=True)
def nothing_ran():
    pyiceberg_patches.apply()
    pyiceberg_patches.guard_auth_managers()
    RAN.clear()


@pytest.fixture
def altered(tables):
    """Make a table with a property that another client set, and a second one without."""

    def make(key, value):
        made = tables()
        file = Path(urlsplit(made.create(NAME, SCHEMA).metadata_location).path)
        made.create("rpc.other", SCHEMA)
        metadata = json.loads(file.read_text())
        metadata["properties"][key] = value
        file.write_text(json.dumps(metadata))
        return made

    return make


def test_pyiceberg_imports_by_name_where_it_did():
    folder = Path(pyiceberg.__file__).parent
    found = {
        f"{path.relative_to(folder)}:{name}"
        for path in folder.rglob("*.py")
        for name in re.findall(r"(?:import_module|__import__)\((.*?)\)", path.read_text())
    }
    assert found == {
        "catalog/__init__.py:module_name",
        "catalog/rest/auth.py:module_path",
        "io/__init__.py:module_name",
        "io/pyarrow.py:module_name",
        "table/locations.py:module_name",
        "transforms.py:module_name",
    }, "look at the new places, and guard them in floe.catalogs.code_guard"


@pytest.mark.parametrize("key", [FILE_IO, LOCATION_PROVIDER, RETRY_STRATEGY])
def test_a_table_that_names_code_is_refused_and_others_go_on(altered, key):
    made = altered(key, HERE)
    with pytest.raises(CodeRefused, match=f"table 'rpc.pizzas' is refused: {key} names the class") as caught:
        made.load(NAME)
    assert isinstance(caught.value, REFUSALS)
    assert RAN == []
    assert made.load("rpc.other") is not None


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (FILE_IO, "pyiceberg.io.pyarrow.PyArrowFileIO"),
        (LOCATION_PROVIDER, "pyiceberg.table.locations.SimpleLocationProvider"),
    ],
)
def test_a_table_may_name_what_pyiceberg_has(altered, key, name):
    table = altered(key, name).require(NAME)
    assert table.location_provider().new_data_location("a").startswith(table.location())


def test_a_class_that_the_operator_names_is_loaded(altered, monkeypatch):
    monkeypatch.setenv("PYICEBERG_CATALOG__ANY__WRITE__PY_LOCATION_PROVIDER__IMPL", HERE)
    altered(LOCATION_PROVIDER, HERE).require(NAME).location_provider()
    assert len(RAN) == 1


@pytest.mark.parametrize(
    "key", ["gcs.service.host", "adls.account-host", "s3.endpoint", "hdfs.host", "s3.profile-name", "token", "uri"]
)
def test_a_table_does_not_say_how_its_store_is_reached(altered, key):
    with pytest.raises(TableUnsuitable, match=f"table 'rpc.pizzas' has the properties {key}") as caught:
        altered(key, "x").load(NAME)
    assert isinstance(caught.value, REFUSALS)


def test_a_worker_loads_no_class_either():
    importlib.import_module("floe.parquet.table_writer")
    with pytest.raises(CodeRefused, match=LOCATION_PROVIDER):
        load_location_provider("file:///x", {LOCATION_PROVIDER: HERE})
    with pytest.raises(CodeRefused, match=FILE_IO):
        load_file_io({FILE_IO: HERE}, "file:///x")
    with pytest.raises(CodeRefused, match=RETRY_STRATEGY):
        load_file_io({RETRY_STRATEGY: HERE}, "file:///x")
    with pytest.raises(CodeRefused, match="py-catalog-impl"):
        load_catalog("x", **{"py-catalog-impl": HERE})
    with pytest.raises(CodeRefused, match="auth"):
        AuthManagerFactory.create(HERE, {})
    assert RAN == []


ENTRA = {"adls.client-id": "x", "adls.client-secret": "y", "adls.tenant-id": "z"}


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({FILE_IO: HERE}, "names the class"),
        ({"auth": {"type": HERE, HERE: {}}}, "names the class"),
        ({"auth": {"type": "custom", "impl": HERE}}, "names the class"),
        ({"auth": {"type": "google", "google": {"credentials_path": "/etc/passwd"}}}, "own configuration"),
        ({"ssl": {"cabundle": "/tmp/ca"}}, "own configuration"),
        ({"s3.profile-name": "admin"}, "own configuration"),
        (
            {"client.role-arn": "arn:aws:iam::1:role/admin"},
            "client.role-arn: that is for this process' own configuration",
        ),
        ({"client.assume-role.arn": "arn:aws:iam::1:role/admin"}, "own configuration"),
        ({"gcs.impersonate.service-account": "admin@x.example"}, "own configuration"),
        ({"hdfs.user": "hdfs"}, "own configuration"),
        ({"adls.client-id": "x", "adls.tenant-id": "t"}, "adls.client-id without the rest of its application"),
        ({"oauth2-server-uri": "http://evil"}, "another oauth2-server-uri"),
        ({"gcs.service.host": "http://evil"}, "no credentials for it"),
        ({"adls.account-host": "evil"}, "no credentials for it"),
        ({"adls.account-host": "evil", "adls.anon": "true"}, "no credentials for it"),
        ({"adls.account-host": "evil", **ENTRA, "adls.client-secret": ""}, "without the rest of its application"),
        ({"gcs.session-kwargs": '{"proxy": "http://evil"}'}, "own configuration"),
    ],
)
def test_a_catalog_that_answers_with_more_is_refused(answer, problem):
    with pytest.raises(CatalogMisconfigured, match=problem):
        check_catalog_answer(answer, {"credential": "id:secret", "adls.sas-token": "ours"})


@pytest.mark.parametrize(
    "answer",
    [
        {"gcs.service.host": "http://evil", "gcs.oauth2.token": ""},
        {"gcs.service.host": "http://evil", "gcs.oauth2.token-expires-at": "1"},
        {"gcs.service.host": "http://evil", "gcs.any-token": "x"},
        {"gcs.service.host": "http://evil", "gcs.no-auth": "yes", "gcs.secret": "x"},
        {"adls.dfs-storage-authority": "evil", "adls.sas-token.another": "x"},
        {"adls.dfs-storage-authority": "evil", "adls.sas-token": ""},
        {"adls.dfs-storage-authority": "evil", "adls.account-name": "lake", "adls.sas-token": "x"},
    ],
)
def test_an_address_of_a_catalog_gets_no_login_of_this_process(answer):
    """A client without a login takes that of the process, so what looks like one in the answer does not count."""
    with pytest.raises(CatalogMisconfigured, match="no credentials for it"):
        check_catalog_answer(answer, {})
    with pytest.raises(TableUnsuitable, match="no credentials for it"):
        check_table_answer(NAME, answer, {})


@pytest.mark.parametrize(
    ("own", "answer"),
    [
        ({"gcs.service.host": "http://ours", "gcs.oauth2.token": "ours"}, {"gcs.oauth2.token": ""}),
        ({"gcs.service.host": "http://ours", "gcs.no-auth": "true"}, {"gcs.no-auth": "False"}),
        ({"adls.dfs-storage-authority": "ours", "adls.client-secret": "ours"}, {"adls.client-secret": " "}),
        ({"adls.sas-token.lake": "ours"}, {"adls.sas-token.lake": ""}),
    ],
)
def test_a_catalog_that_takes_our_login_away_is_refused(own, answer):
    with pytest.raises(CatalogMisconfigured, match="the workers' own login would count instead"):
        check_catalog_answer(answer, own)
    with pytest.raises(TableUnsuitable, match="the workers' own login would count instead"):
        check_table_answer(NAME, answer, own)
    check_table_answer(NAME, answer, {})


@pytest.mark.parametrize(
    "answer",
    [
        {"prefix": "x", "uri": "http://same", "s3.endpoint": "http://minio", "s3.access-key-id": "a"},
        {"gcs.service.host": "http://store", "gcs.oauth2.token": "t"},
        {"gcs.service.host": "http://store", "gcs.no-auth": "true"},
        {"adls.dfs-storage-authority": "store", **ENTRA},
        {"adls.dfs-storage-authority": "store", "adls.sas-token": "t"},
        {"adls.account-name": "lake", "adls.sas-token.lake": "t"},
        {FILE_IO: "pyiceberg.io.fsspec.FsspecFileIO", "s3.signer": "S3V4RestSigner"},
    ],
)
def test_what_catalogs_vend_is_taken(answer):
    check_catalog_answer(answer, {})
    check_table_answer(NAME, answer, {})
