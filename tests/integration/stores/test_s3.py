"""The warehouse in an S3 store, with the keys that Java's files have; what a store may do wrong in a run."""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Callable, Iterator

import pytest
from pyarrow.fs import FileSelector, FileType, S3FileSystem

from floe.exceptions import FloeError, Retryable
from stack.exceptions import Unsuitable
from stack.services.object_store import REGION, ObjectStore
from stack.settings import free_port
from tests.support.metastores.server import started
from tests.support.metastores.versitygw import Versitygw
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.records import ids, orders, read_ids
from tests.support.runs.replacements import META, REPLACE
from tests.support.runs.replays import replay
from tests.support.tables.store_proxy import EXPIRED, SLOW_DOWN, StoreFault, StoreProxy

LOGIN = {"access": "floe", "secret": "the-secret", "token": "the-session-token"}
DATA_FILE = r"^(PUT|POST) \S+/data/"
LARGE = [{"id": i, "note": secrets.token_hex(6_000)} for i in range(4_000)]
"""Records of a file above 20 MB, which does not compress to less than two parts."""
Make = Callable[..., Pipeline]
Store = ObjectStore | Versitygw


@pytest.fixture(scope="module", params=["moto", pytest.param("versitygw", marks=pytest.mark.full)])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("store")
    made = (
        ObjectStore(folder, free_port())
        if request.param == "moto"
        else Versitygw(folder, LOGIN["access"], LOGIN["secret"])
    )
    try:
        with started(made):
            yield made
    except Unsuitable as missing:
        pytest.skip(str(missing))


@pytest.fixture
def proxy(store: Store) -> Iterator[StoreProxy]:
    one = StoreProxy(store.url)
    yield one
    one.close()


@pytest.fixture
def files(store: Store) -> S3FileSystem:
    return S3FileSystem(
        endpoint_override=store.url,
        access_key=LOGIN["access"],
        secret_key=LOGIN["secret"],
        region=REGION,
        allow_bucket_creation=True,
        allow_bucket_deletion=True,
    )


@pytest.fixture
def bucket(files: S3FileSystem) -> str:
    name = f"lake-{uuid.uuid4().hex[:10]}"
    files.create_dir(name)
    return name


@pytest.fixture
def on_s3(pipeline: MakePipeline, store: Store, proxy: StoreProxy, bucket: str) -> Make:
    """A factory of pipelines, as people write the block for MinIO."""

    def make(scheme: str = "s3", **more: object) -> Pipeline:
        catalog = {
            "warehouse": f"{scheme}://{bucket}/warehouse",
            "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            "client.region": REGION,
            "s3.endpoint": proxy.endpoint,
            "s3.path-style-access": "true",
            "s3.access-key-id": LOGIN["access"],
            "s3.secret-access-key": LOGIN["secret"],
        }
        if isinstance(store, ObjectStore):  # the other one checks logins, and issues no tokens
            catalog["s3.session-token"] = LOGIN["token"]
        return pipeline(**{f"iceberg.catalog.{key}": value for key, value in catalog.items()}, **more)

    return make


def data_files(files: S3FileSystem, bucket: str) -> int:
    """Count the data files in the bucket, those too that no table names."""
    found = files.get_file_info(FileSelector(f"{bucket}/warehouse", recursive=True, allow_not_found=True))
    return sum(one.type is FileType.File and one.path.endswith(".parquet") for one in found)


def failed_write(pizzas: Pipeline, within: float = 120) -> FloeError:
    """Write a plan that cannot be written, and return its error: nothing is announced, the position stays."""
    before = sum(pizzas.position().values())
    began = time.monotonic()
    (error,) = pizzas.try_write(pizzas.plan())
    assert time.monotonic() - began < within
    assert sum(pizzas.position().values()) == before
    return error


@pytest.mark.parametrize("scheme", ["s3", "s3a", pytest.param("s3n", marks=pytest.mark.full)])
def test_runs_land_once_in_a_bucket(on_s3: Make, proxy: StoreProxy, bucket: str, scheme: str) -> None:
    pizzas = on_s3(scheme)
    pizzas.produce(ids(0, 100))
    pizzas.run()
    pizzas.produce({"id": i, "tip": 1.5} for i in range(100, 150))
    plan = pizzas.run()
    assert pizzas.commit(plan).done
    assert read_ids(pizzas) == list(range(150))
    assert pizzas.table().location().startswith(f"{scheme}://{bucket}/warehouse/")
    assert proxy.seen(rf"^(PUT|POST) /{bucket}/warehouse/db/t/data/")


def test_large_file_is_uploaded_in_parts(on_s3: Make, proxy: StoreProxy) -> None:
    pizzas = on_s3()
    pizzas.produce(LARGE)
    pizzas.run()
    assert read_ids(pizzas) == list(range(len(LARGE)))
    assert len(proxy.seen(r"^PUT \S+/data/\S+partNumber=")) > 1


def test_snapshots_of_a_bucket_expire_with_commits(on_s3: Make) -> None:
    created = "iceberg.tables.auto-create-props."
    kept = {f"{created}floe.expire.max-snapshots": 2, f"{created}history.expire.min-snapshots-to-keep": 1}
    pizzas = on_s3(**kept)
    for number in range(4):
        pizzas.produce(ids(number, number + 1))
        pizzas.run()
    assert len(pizzas.table().metadata.snapshots) == 2
    assert read_ids(pizzas) == list(range(4))


def test_replay_in_a_bucket_replaces_rows_once(on_s3: Make) -> None:
    pizzas = on_s3(**META)
    pizzas.produce(orders(0, 60))
    pizzas.run()
    replay(pizzas, overlap="append")
    assert read_ids(pizzas) == sorted([*range(60), *range(60)])
    replay(pizzas, **REPLACE)
    assert read_ids(pizzas) == list(range(60))


def test_dead_letters_of_a_bucket_are_kept(on_s3: Make) -> None:
    pizzas = on_s3(**{"floe.deadletter.table": "db.dead"})
    pizzas.produce([*orders(0, 10), b"{not json", *orders(10, 20)])
    pizzas.run()
    assert read_ids(pizzas) == list(range(20))
    assert pizzas.table("db.dead").scan().to_arrow().num_rows == 1


@pytest.mark.parametrize(
    "fault",
    [StoreFault(DATA_FILE, SLOW_DOWN), StoreFault(DATA_FILE), StoreFault(DATA_FILE, EXPIRED)],
    ids=["503 SlowDown", "upload cut", "credentials expired"],
)
def test_upload_that_fails_announces_nothing(
    on_s3: Make, proxy: StoreProxy, files: S3FileSystem, bucket: str, fault: StoreFault
) -> None:
    pizzas = on_s3(**{"iceberg.catalog.s3.request-timeout": "10"})
    pizzas.produce(ids(0, 50))
    pizzas.run()
    pizzas.produce(ids(50, 100))
    proxy.fault = fault
    error = failed_write(pizzas)
    assert proxy.hits
    assert isinstance(error, Retryable)
    assert LOGIN["secret"] not in str(error)
    assert LOGIN["token"] not in str(error)
    proxy.fault = None
    pizzas.run()
    assert read_ids(pizzas) == list(range(100))
    assert data_files(files, bucket) == len(pizzas.table().inspect.files())


def test_upload_answered_503_once_is_repeated(on_s3: Make, proxy: StoreProxy) -> None:
    pizzas = on_s3()
    pizzas.produce(ids(0, 50))
    proxy.fault = StoreFault(DATA_FILE, SLOW_DOWN, times=1)
    pizzas.run()
    assert len(proxy.hits) == 1
    assert read_ids(pizzas) == list(range(50))


def test_multipart_upload_that_is_cut_leaves_no_file(
    on_s3: Make, proxy: StoreProxy, files: S3FileSystem, bucket: str
) -> None:
    pizzas = on_s3(**{"iceberg.catalog.s3.request-timeout": "10"})
    pizzas.produce(LARGE)
    proxy.fault = StoreFault(r"^PUT \S+/data/\S+partNumber=", spared=1)
    assert isinstance(failed_write(pizzas), Retryable)
    assert data_files(files, bucket) == 0
    proxy.fault = None
    pizzas.run()
    assert read_ids(pizzas) == list(range(len(LARGE)))


def test_bucket_that_is_gone_fails_until_it_is_back(on_s3: Make, files: S3FileSystem, bucket: str) -> None:
    pizzas = on_s3()
    pizzas.produce(ids(0, 50))
    files.delete_dir(bucket)
    assert bucket in str(failed_write(pizzas))
    files.create_dir(bucket)
    pizzas.run()
    assert read_ids(pizzas) == list(range(50))


def test_metadata_that_is_not_found_is_read_by_the_next_run(on_s3: Make, proxy: StoreProxy) -> None:
    pizzas = on_s3()
    pizzas.produce(ids(0, 50))
    pizzas.run()
    pizzas.produce(ids(50, 100))
    proxy.fault = StoreFault(r"^(GET|HEAD) \S+\.metadata\.json", (404, "NoSuchKey"))
    with pytest.raises(FloeError):
        pizzas.run()
    assert proxy.hits
    proxy.fault = None
    pizzas.run()
    assert read_ids(pizzas) == list(range(100))
