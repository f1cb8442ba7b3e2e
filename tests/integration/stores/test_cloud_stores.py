"""The warehouse at Azure and at Google, on their emulators, with the keys that Java's files have; what fails there."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable, Iterator

import pytest
from pyarrow.fs import FileSelector, FileSystem

from floe.exceptions import FloeError, Retryable
from stack.exceptions import Unsuitable
from tests.support.metastores.cloud_emulators import ACCOUNT, KEY, Azurite, FakeGcs, account_sas
from tests.support.metastores.server import started
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.records import ids, orders, read_ids
from tests.support.runs.replacements import META, REPLACE
from tests.support.runs.replays import replay
from tests.support.tables.store_proxy import StoreFault, StoreProxy

pytestmark = pytest.mark.full

Store = Azurite | FakeGcs
Make = Callable[..., Pipeline]
UPLOAD = r"^(PUT|POST) \S*(/|%2F)data(/|%2F)\S*\.parquet"
UNAVAILABLE = (503, "ServerBusy")
HOST = f"{ACCOUNT}.dfs.core.windows.net"
SHARED_KEY = {"adls.auth.shared-key.account.name": ACCOUNT, "adls.auth.shared-key.account.key": KEY}


@pytest.fixture(scope="module", params=[Azurite, FakeGcs], ids=["azure", "gcs"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    try:
        with started(request.param(tmp_path_factory.mktemp("store"))) as one:
            yield one
    except Unsuitable as missing:
        pytest.skip(str(missing))


@pytest.fixture
def azure(store: Store) -> Azurite:
    if not isinstance(store, Azurite):
        pytest.skip("of Azure alone")
    return store


@pytest.fixture
def proxy(store: Store) -> Iterator[StoreProxy]:
    one = StoreProxy(store.url)
    yield one
    one.close()


@pytest.fixture
def files(store: Store) -> FileSystem:
    return store.files()


@pytest.fixture
def bucket(files: FileSystem) -> str:
    name = f"lake-{uuid.uuid4().hex[:10]}"
    files.create_dir(name)
    return name


@pytest.fixture
def in_store(pipeline: MakePipeline, store: Store, proxy: StoreProxy, bucket: str) -> Make:
    """A factory of pipelines whose warehouse is in the store."""

    def make(login: dict[str, str] = SHARED_KEY, **more: object) -> Pipeline:
        if isinstance(store, Azurite):
            address = proxy.endpoint.partition("://")[2]
            catalog = {
                "warehouse": f"abfss://{bucket}@{HOST}/warehouse",
                "io-impl": "org.apache.iceberg.azure.adlsv2.ADLSFileIO",
                "adls.blob-storage-authority": address,
                "adls.dfs-storage-authority": address,
                "adls.blob-storage-scheme": "http",
                "adls.dfs-storage-scheme": "http",
                **login,
            }
        else:
            catalog = {
                "warehouse": f"gs://{bucket}/warehouse",
                "io-impl": "org.apache.iceberg.gcp.gcs.GCSFileIO",
                "gcs.service.host": store.url,  # a thread cannot be its proxy: Arrow's client reads with Python's lock held
                "gcs.oauth2.token": "the-token",
            }
        return pipeline(**{f"iceberg.catalog.{key}": value for key, value in catalog.items()}, **more)

    return make


def data_files(files: FileSystem, bucket: str) -> int:
    found = files.get_file_info(FileSelector(f"{bucket}/warehouse", recursive=True, allow_not_found=True))
    return sum(one.path.endswith(".parquet") and one.is_file for one in found)


def failed_write(pizzas: Pipeline) -> FloeError:
    """Write a plan that cannot be written, and return its error: nothing is announced, the position stays."""
    before = sum(pizzas.position().values())
    (error,) = pizzas.try_write(pizzas.plan())
    assert sum(pizzas.position().values()) == before
    return error


def test_runs_land_once_in_a_container(in_store: Make, bucket: str) -> None:
    pizzas = in_store()
    pizzas.produce(ids(0, 100))
    pizzas.run()
    pizzas.produce({"id": i, "tip": 1.5} for i in range(100, 150))
    plan = pizzas.run()
    assert pizzas.commit(plan).done
    assert read_ids(pizzas) == list(range(150))
    assert bucket in pizzas.table().location()


def test_large_file_is_uploaded_in_parts(in_store: Make) -> None:
    pizzas = in_store()
    pizzas.produce({"id": i, "note": secrets.token_hex(6_000)} for i in range(4_000))
    pizzas.run()
    assert read_ids(pizzas) == list(range(4_000))


def test_replay_replaces_rows_and_dead_letters_are_kept(in_store: Make) -> None:
    pizzas = in_store(**META, **{"floe.deadletter.table": "db.dead"})
    pizzas.produce([*orders(0, 30), b"{not json", *orders(30, 60)])
    pizzas.run()
    replay(pizzas, **REPLACE)
    assert read_ids(pizzas) == list(range(60))
    assert pizzas.table("db.dead").scan().to_arrow().num_rows >= 1


@pytest.mark.parametrize("answer", [UNAVAILABLE, None], ids=["503", "cut"])
def test_upload_that_fails_announces_nothing(
    azure: Azurite, in_store: Make, proxy: StoreProxy, files: FileSystem, bucket: str, answer: tuple[int, str] | None
) -> None:
    pizzas = in_store()
    pizzas.produce(ids(0, 50))
    pizzas.run()
    pizzas.produce(ids(50, 100))
    proxy.fault = StoreFault(UPLOAD, answer)
    error = failed_write(pizzas)
    assert proxy.hits
    assert isinstance(error, Retryable), error
    assert KEY not in str(error)
    proxy.fault = None
    pizzas.run()
    assert read_ids(pizzas) == list(range(100))
    assert data_files(files, bucket) == len(pizzas.table().inspect.files())


def test_container_that_is_gone_fails_until_it_is_back(
    in_store: Make, store: Store, files: FileSystem, bucket: str
) -> None:
    pizzas = in_store()
    pizzas.produce(ids(0, 50))
    store.remove(bucket)
    error = str(failed_write(pizzas))
    assert bucket in error or "NOT_FOUND" in error  # Google's client names no bucket
    files.create_dir(bucket)
    pizzas.run()
    assert read_ids(pizzas) == list(range(50))


@pytest.mark.parametrize("named", [HOST, ACCOUNT])
def test_sas_token_of_an_account_is_used_for_it(azure: Azurite, in_store: Make, named: str) -> None:
    pizzas = in_store({f"adls.sas-token.{named}": account_sas(), "adls.sas-token.other": "sv=1&sig=of-another"})
    pizzas.produce(ids(0, 50))
    pizzas.run()
    assert read_ids(pizzas) == list(range(50))


@pytest.mark.parametrize(
    "login",
    [{f"adls.sas-token.{HOST}": account_sas(expires="2020-01-01T00:00:00Z")}, {"adls.account-key": "bm90IHRoZSBrZXk="}],
    ids=["expired token", "wrong key"],
)
def test_login_that_azure_refuses_is_named(azure: Azurite, in_store: Make, login: dict[str, str]) -> None:
    pizzas = in_store(login)
    pizzas.produce(ids(0, 5))
    text = str(failed_write(pizzas))
    assert "403" in text or "AuthenticationFailed" in text or "AuthorizationFailure" in text, text
    assert not any(value in text for value in login.values())
