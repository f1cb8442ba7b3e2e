"""floe on a REST server that demands what Unity, Polaris and S3 Tables demand: logins, locations, credentials, faults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io import OutputFile
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table import Table

from floe.catalogs.client import CatalogClient
from floe.catalogs.exceptions import (
    CatalogError,
    CatalogLoginRefused,
    CatalogMisconfigured,
    CatalogUnreachable,
    TableUnsuitable,
)
from floe.catalogs.providers.rest import login as rest_login
from floe.model.ledger import Ledger
from floe.tables.exceptions import TableRefused
from floe.tables.file_checks import roots_of
from floe.tables.snapshot_commit import append
from stack.services.rest_catalog import RestCatalog
from tests.support.fixtures import short_waits  # noqa: F401 - of every test here
from tests.support.registry.double import as_json
from tests.support.rest.signature import signature_problem
from tests.support.rest.strict_front import ENDPOINTS, Answer, Headers
from tests.support.rest.strict_lake import PAT, StrictLake
from tests.support.runs.pipeline import MakePipeline
from tests.support.runs.records import read_ids
from tests.support.tables.catalog_proxy import answer_lost
from tests.support.tables.lake import CLUSTER, LEDGER, SCHEMA, TABLE, expected
from tests.support.tables.slices import write_slice

START = "iceberg.catalog."
BUSY = Answer.error(429, "TooManyRequestsException", "later", Retry_After="0")
KEYS = {"AKIDEXAMPLE": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}


@pytest.fixture
def lake(rest_catalog: RestCatalog, tmp_path: Path) -> Iterator[StrictLake]:
    made = StrictLake(tmp_path, server=rest_catalog)
    yield made
    made.close()


def with_login(lake: StrictLake, **keys: object) -> None:
    lake.login = {f"{START}{key}": value for key, value in keys.items()}


# -- logins --------------------------------------------------------------------------------------------------------------


def test_one_login_serves_a_whole_client(lake: StrictLake) -> None:
    client = lake.catalog()
    lake.tables(client).create(TABLE, SCHEMA)
    write_slice(lake, (0, 0, 5)).land(client)
    assert lake.rows() == expected((0, 5))
    before = len(lake.logins.logins)
    client.load_table(TABLE)
    assert len(lake.logins.logins) == before
    assert lake.logins.refusals == []


def test_personal_access_token_needs_no_login(lake: StrictLake) -> None:
    with_login(lake, **{"token": PAT, "oauth2-server-uri": lake.logins.address})
    lake.create()
    write_slice(lake, (0, 0, 5)).land()
    assert lake.rows() == expected((0, 5))
    assert lake.logins.logins == []


def test_refused_token_is_final_and_names_the_login(lake: StrictLake) -> None:
    with_login(lake, token="dapi-of-another-workspace")
    with pytest.raises(CatalogLoginRefused, match=r"not allowed to open catalog.*unknown token.*credentials") as caught:
        CatalogClient.of(lake.connector())
    assert "dapi-of" not in str(caught.value)


def test_refused_credential_is_final_and_names_the_login(lake: StrictLake) -> None:
    over = {f"{START}credential": "floe-principal:wrong-secret-1"}
    with pytest.raises(CatalogLoginRefused, match=r"refuses iceberg\.catalog\.credential \(invalid_client") as caught:
        CatalogClient.of(lake.connector(**over))
    assert "wrong-secret" not in str(caught.value)


@pytest.mark.parametrize("is_named", [True, False])
def test_token_is_renewed_before_it_expires(lake: StrictLake, monkeypatch: pytest.MonkeyPatch, is_named: bool) -> None:
    lake.logins.is_lifetime_named = is_named
    client = lake.catalog()
    lake.tables(client).create(TABLE, SCHEMA)
    before, now = len(lake.logins.logins), rest_login.monotonic
    monkeypatch.setattr(rest_login, "monotonic", lambda: now() + 3_541)
    client.load_table(TABLE)
    client.load_table(TABLE)
    assert len(lake.logins.logins) == before + 1
    assert lake.logins.refusals == []


@pytest.mark.parametrize("status", [401, 419])
def test_expired_token_in_the_middle_is_renewed(lake: StrictLake, status: int) -> None:
    lake.expired = status
    client = lake.catalog()
    lake.tables(client).create(TABLE, SCHEMA)
    written = write_slice(lake, (0, 0, 5))
    lake.logins.expire_all()
    client.load_table(TABLE)
    expiries = [lake.logins.expire_all]  # between the load and the commit
    lake.proxy.before = lambda: expiries.pop()() if expiries else None
    written.land(client)
    lake.proxy.before = None
    assert lake.rows() == expected((0, 5))
    assert len(lake.load().metadata.snapshots) == 1


def test_lost_answer_and_expired_token_at_once_are_found(lake: StrictLake) -> None:
    lake.create()
    written = write_slice(lake, (0, 0, 5))
    client = lake.catalog()
    lake.proxy.put(answer_lost())
    lake.proxy.after = lambda _port: lake.logins.expire_all()
    assert written.land(client).already
    lake.proxy.after = None
    assert lake.rows() == expected((0, 5))
    assert len(lake.load().metadata.snapshots) == 1


@pytest.mark.parametrize("status", [401, 419])
def test_token_that_may_not_be_renewed_ends_the_run(lake: StrictLake, status: int) -> None:
    lake.create()
    lake.expired = status
    client = CatalogClient.of(lake.connector(**{f"{START}token-refresh-enabled": "false"}))
    lake.logins.expire_all()
    with pytest.raises(CatalogLoginRefused, match="the token expired"):
        client.load(TABLE)
    table = Table(("rpc", "pizzas"), lake.load().metadata, "", lake.load().io, client.catalog)
    with pytest.raises(TableRefused, match="not allowed to commit"), client.committing(TABLE):
        append(table, "main", (), {}, LEDGER, Ledger(CLUSTER, {}))
    client.catalog.close()
    assert lake.load().metadata.snapshots == []


def test_login_that_is_down_loses_nothing(lake: StrictLake) -> None:
    lake.create()
    written = write_slice(lake, (0, 0, 5))
    client = lake.catalog()
    lake.logins.expire_all()
    lake.logins.replies += [as_json({}, 500)] * 2
    with pytest.raises(CatalogUnreachable, match="answers 500"):
        lake.tables(client).load(TABLE)
    lake.logins.replies.clear()
    written.land(client)
    assert lake.rows() == expected((0, 5))


# -- the catalog's own ways ----------------------------------------------------------------------------------------------


def test_location_that_the_server_chose_is_written_to(lake: StrictLake) -> None:
    table = lake.tables().create("rpc.pizzas", SCHEMA)
    assert "/managed/" in table.location()
    write_slice(lake, (0, 0, 5)).land()
    files = lake.load().inspect.files()["file_path"].to_pylist()
    assert files
    assert all(path.startswith(f"{table.location()}/") for path in files)
    assert roots_of(lake.load().metadata) == [table.location()]


def test_nested_namespace_is_refused_by_name(lake: StrictLake) -> None:
    with pytest.raises(TableUnsuitable, match=r"no namespace 'rpc\.inner'.*one level.*such as rpc\.t") as caught:
        lake.tables().create("rpc.inner.t", SCHEMA)
    assert caught.value.code == "FLOE-422"
    assert "rpc.t" not in lake.tables().names()


def test_namespace_that_may_not_be_created_is_named(lake: StrictLake) -> None:
    lake.front.endpoints.remove("POST /v1/{prefix}/namespaces")
    with pytest.raises(TableUnsuitable, match=r"its namespace does not exist.*not support endpoint.*Create the") as e:
        lake.tables().create("nowhere.t", SCHEMA)
    assert e.value.code == "FLOE-422"


def test_endpoint_that_is_not_there_is_final(lake: StrictLake) -> None:
    lake.create()
    lake.front.endpoints = [one for one in ENDPOINTS if not one.startswith("GET")]
    with pytest.raises(CatalogMisconfigured, match=r"does not do what is asked.*not support endpoint"):
        lake.tables().load(TABLE)
    assert lake.tables().listed([TABLE]) is None


def test_each_load_has_credentials_of_its_own(lake: StrictLake) -> None:
    first = lake.tables().create(TABLE, SCHEMA)
    second = lake.load()
    keys = [table.io.properties["s3.access-key-id"] for table in (first, second)]
    assert keys == lake.front.vended[:1] + lake.front.vended[-1:]
    assert len(set(keys)) == 2
    assert second.io.properties["client.region"] == "eu-central-1"
    first.refresh()
    assert first.io.properties["s3.access-key-id"] == lake.front.vended[-1]
    assert not {"credential", "token", "auth.manager", "header.X-Of-Catalog"} & first.io.properties.keys()


def test_token_for_a_table_commits_to_that_table(lake: StrictLake) -> None:
    lake.create()
    client = lake.catalog()

    def give_token(path: str, document: dict[str, Any]) -> None:
        if "/tables/" in path and "config" in document:
            document["config"]["token"] = PAT

    lake.front.change = give_token
    write_slice(lake, (0, 0, 5)).land(client)
    commits = [headers for method, path, headers in lake.front.requests if method == "POST" and "/tables/" in path]
    assert [headers["authorization"] for headers in commits] == [f"Bearer {PAT}"]
    client.list_namespaces()
    assert lake.front.requests[-1][2]["authorization"] != f"Bearer {PAT}"


# -- answers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "becomes"),
    [
        (400, CatalogMisconfigured),
        (403, CatalogMisconfigured),
        (409, CatalogMisconfigured),
        (429, CatalogUnreachable),
        (500, CatalogUnreachable),
        (502, CatalogUnreachable),
        (503, CatalogUnreachable),
        (504, CatalogUnreachable),
    ],
)
def test_error_of_a_load_is_what_its_status_says(lake: StrictLake, status: int, becomes: type[Exception]) -> None:
    lake.create()
    client = CatalogClient.of(lake.connector(**{f"{START}rest.client.max-retries": "0"}))
    lake.front.faults.append(Answer.error(status, "SomeException", "said by the server"))
    with pytest.raises(becomes, match="said by the server"):
        client.load(TABLE)
    assert client.load(TABLE) is not None
    client.catalog.close()


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_server_that_is_busy_is_asked_again(lake: StrictLake, status: int) -> None:
    lake.create()
    client = lake.tables()
    lake.front.faults += [Answer.error(status, "Busy", "later", Retry_After="0")] * 3
    assert client.load(TABLE) is not None
    assert lake.front.faults == []


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_commit_that_met_an_error_is_made_once(lake: StrictLake, status: int) -> None:
    lake.create()
    written = write_slice(lake, (0, 0, 5))
    client = lake.catalog()
    fault = Answer.error(status, "Busy", "later", Retry_After="0")
    lake.proxy.before = lambda: lake.front.faults.append(fault) if lake.proxy.statuses == [] else None
    written.land(client)
    assert lake.proxy.statuses[0] == status
    assert lake.rows() == expected((0, 5))
    assert len(lake.load().metadata.snapshots) == 1


@pytest.mark.parametrize(
    ("status", "becomes", "text"),
    [
        (400, TableRefused, "refuses to commit.*Nothing was changed"),
        (403, TableRefused, "not allowed to commit"),
        (409, CommitFailedException, "said by the server"),
    ],
)
def test_refused_commit_is_what_its_status_says(
    lake: StrictLake, status: int, becomes: type[Exception], text: str
) -> None:
    lake.create()
    client = CatalogClient.of(lake.connector())
    table = client.require(TABLE)
    lake.front.faults.append(Answer.error(status, "SomeException", "said by the server"))
    with pytest.raises(becomes, match=text), client.committing(TABLE), table.transaction() as change:
        change.set_properties(a="1")
    assert "a" not in lake.load().properties
    client.catalog.close()


# -- signatures ----------------------------------------------------------------------------------------------------------


def _admits(method: str, path: str, headers: Headers, body: bytes) -> tuple[int, str]:
    problem = signature_problem(method, path, headers, body, KEYS, "eu-central-1", "s3tables")
    return (403, problem) if problem else (200, "")


def _signed(lake: StrictLake, secret: str, **more: object) -> dict[str, object]:
    keys: Mapping[str, object] = {
        "uri": lake.front.uri,
        "rest.auth.type": "sigv4",
        "rest.signing-name": "s3tables",
        "rest.signing-region": "eu-central-1",
        "rest.access-key-id": "AKIDEXAMPLE",
        "rest.secret-access-key": secret,
        **more,
    }
    lake.front.admit = _admits
    lake.login = {"iceberg.catalog.header.X-Of-Catalog": "alone"}
    return {f"{START}{key}": value for key, value in keys.items()}


def test_signed_requests_pass_as_aws_demands(lake: StrictLake) -> None:
    lake.login = _signed(lake, KEYS["AKIDEXAMPLE"])
    table = lake.tables().create("rpc.pizzas", SCHEMA)
    write_slice(lake, (0, 0, 5)).land()
    assert lake.rows() == expected((0, 5))
    assert lake.tables().listed(["rpc.pizzas", "rpc.none"]) == {"rpc.pizzas"}
    lake.front.faults.append(BUSY)
    table.refresh()
    assert "rest.secret-access-key" not in table.io.properties


def test_wrong_signature_is_refused_by_name(lake: StrictLake) -> None:
    keys = _signed(lake, "of-another-account-1")
    with pytest.raises(CatalogMisconfigured, match="SignatureDoesNotMatch") as caught:
        CatalogClient.of(lake.connector(**keys))
    assert "of-another" not in str(caught.value)


def test_signature_without_credentials_names_them(lake: StrictLake, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    keys = {key: value for key, value in _signed(lake, "").items() if "access-key" not in key}
    with pytest.raises(CatalogError, match=r"cannot be signed.*no credentials of AWS") as caught:
        CatalogClient.of(lake.connector(**keys))
    assert caught.value.code == "FLOE-420"
    assert lake.front.requests == []


# -- a whole run ---------------------------------------------------------------------------------------------------------


def test_runs_land_once_while_tokens_expire(pipeline: MakePipeline, lake: StrictLake, tmp_path: Path) -> None:
    name = f"rpc.t{tmp_path.name.replace('-', '_')}"
    given = lake.connector().properties
    keys = {key: value for key, value in given.items() if key.startswith(START)}
    pizzas = pipeline(partitions=2, **{**keys, "iceberg.tables": name})
    for start in (0, 100):
        pizzas.produce({"id": i} for i in range(start, start + 100))
        plan = pizzas.plan()
        lake.logins.expire_all()
        pizzas.write(plan)
        lake.logins.expire_all()
        assert [one.already for one in pizzas.commit(plan).committed] == [False]
    assert read_ids(pizzas, name) == list(range(200))


def test_credentials_that_expire_in_a_write_fail_it_whole(
    pipeline: MakePipeline, lake: StrictLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store is a folder here, so that the credentials are checked where files are opened."""
    name = f"rpc.e{tmp_path.name.replace('-', '_')}"
    keys = {key: value for key, value in lake.connector().properties.items() if key.startswith(START)}
    pizzas = pipeline(**{**keys, "iceberg.tables": name})
    pizzas.produce({"id": i} for i in range(50))
    pizzas.run()
    expired: set[str] = set()
    new_output = PyArrowFileIO.new_output

    def checked(io: PyArrowFileIO, location: str) -> OutputFile:
        if io.properties["s3.access-key-id"] in expired:
            msg = "When initiating multiple part upload: AWS Error UNKNOWN (HTTP status 400): ExpiredToken"
            raise OSError(msg)
        return new_output(io, location)

    monkeypatch.setattr(PyArrowFileIO, "new_output", checked)
    pizzas.produce({"id": i} for i in range(50, 100))
    plan = pizzas.plan()
    lake.front.change = lambda _path, _document: expired.update(lake.front.vended)
    with pytest.raises(Exception, match="ExpiredToken"):
        pizzas.write(plan)
    lake.front.change = lambda _path, _document: None
    assert sum(pizzas.position().values()) == 50
    assert read_ids(pizzas, name) == list(range(50))
    pizzas.run()
    assert read_ids(pizzas, name) == list(range(100))
