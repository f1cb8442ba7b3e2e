"""Rows 39 and 41: a store that fails, a disk that is full, and credentials of a store that expire in the middle of a run."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyarrow.fs import FileSelector, FileType, S3FileSystem

from stack.exceptions import Unsuitable
from stack.services.object_store import ObjectStore
from stack.settings import free_port
from tests.faults.harness.run import JobResult, Run
from tests.faults.harness.sink import MakeSink, Sink
from tests.faults.oracle.table_files import STORES
from tests.support.metastores.server import started
from tests.support.metastores.small_disk import enlarge, small_disk
from tests.support.metastores.versitygw import Versitygw
from tests.support.tables.store_proxy import EXPIRED, SLOW_DOWN, StoreFault, StoreProxy

LOGIN = ("floe", "the-secret")
DATA_FILE = r"^(PUT|POST) \S+/data/"
SECOND_PART = r"^PUT \S+/data/\S+partNumber="
METADATA = r"^PUT \S+/metadata/"


@dataclass
class Stored:
    """A sink whose warehouse is in a store, behind a proxy."""

    sink: Sink
    proxy: StoreProxy


Store = ObjectStore | Versitygw


@pytest.fixture(scope="module", params=["moto", "versitygw"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store in memory, which checks no signatures; and one that does, where Go is there to build it."""
    folder = tmp_path_factory.mktemp("store")
    made = ObjectStore(folder, free_port()) if request.param == "moto" else Versitygw(folder, *LOGIN)
    try:
        with started(made):
            yield made
    except Unsuitable as missing:
        pytest.skip(str(missing))


def as_files(store: Store, files: S3FileSystem, bucket: str, folder: Path) -> Callable[[str], Path]:
    """Return how the oracle finds objects: versitygw has them as files, of another store it gets copies."""
    if isinstance(store, Versitygw):
        return lambda key: store.files / bucket / key

    def copied(key: str) -> Path:
        path, info = folder / key, files.get_file_info(f"{bucket}/{key}")
        if info.type == FileType.Directory:
            shutil.rmtree(path, ignore_errors=True)  # what is gone from the store must not be found
            for one in files.get_file_info(FileSelector(info.path, recursive=True)):
                if one.is_file:
                    copied(one.path.removeprefix(f"{bucket}/"))
        elif not info.is_file:
            path.unlink(missing_ok=True)
        elif not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with files.open_input_file(info.path) as source:
                path.write_bytes(source.read())
        return path

    return copied


@pytest.fixture
def stored(store: Store, make_sink: MakeSink, tmp_path: Path) -> Iterator[Stored]:
    bucket, proxy = f"lake-{uuid.uuid4().hex[:8]}", StoreProxy(store.url)
    access, secret = LOGIN
    files = S3FileSystem(
        endpoint_override=store.url,
        access_key=access,
        secret_key=secret,
        region="us-east-1",
        allow_bucket_creation=True,
    )
    files.create_dir(bucket)
    STORES[bucket] = as_files(store, files, bucket, tmp_path / "objects")
    settings = {
        "warehouse": f"s3://{bucket}/warehouse",
        "client.region": "us-east-1",
        "s3.endpoint": proxy.endpoint,
        "s3.access-key-id": access,
        "s3.secret-access-key": secret,
        "s3.request-timeout": "10",
    }
    yield Stored(make_sink(**{f"iceberg.catalog.{name}": value for name, value in settings.items()}), proxy)
    proxy.close()


def planned(sink: Sink, count: int = 200, pad: int = 20) -> Run:
    """Land some records, produce more and plan them."""
    sink.producer.produce(200)
    sink.run()
    sink.producer.produce(count, pad=pad)
    run = sink.new_run()
    assert run.step("plan").is_done
    return run


def write_fails(run: Run, sink: Sink) -> JobResult:
    """Write once: it fails, nothing of it is announced, and no position has moved."""
    before = sink.positions(), len(sink.announcements())
    failed = run.step("write")
    assert failed.is_retryable, failed
    assert (sink.positions(), len(sink.announcements())) == before
    return failed


def heals(run: Run, sink: Sink) -> None:
    assert run.persist("write").is_done
    assert run.persist("commit").is_done
    sink.assert_exactly_once()


@pytest.mark.parametrize("answer", [SLOW_DOWN, None], ids=["503 SlowDown", "cut"])
def test_row_39_upload_that_fails_announces_nothing(stored: Stored, answer: tuple[int, str] | None) -> None:
    run = planned(stored.sink)
    stored.proxy.fault = StoreFault(DATA_FILE, answer)
    write_fails(run, stored.sink)
    assert stored.proxy.hits
    stored.proxy.fault = None
    heals(run, stored.sink)


def test_row_39_large_upload_cut_in_its_second_part(stored: Stored) -> None:
    run = planned(stored.sink, 6_000, pad=12_000)
    stored.proxy.fault = StoreFault(SECOND_PART, spared=1)
    write_fails(run, stored.sink)
    assert len(stored.proxy.seen(SECOND_PART)) > 1
    stored.proxy.fault = None
    heals(run, stored.sink)


@pytest.mark.parametrize("answer", [SLOW_DOWN, None], ids=["503 SlowDown", "cut"])
def test_row_39_metadata_that_fails_commits_nothing(stored: Stored, answer: tuple[int, str] | None) -> None:
    run = planned(stored.sink)
    assert run.step("write").is_done
    before = sum(stored.sink.positions().values()), stored.sink.snapshots()
    stored.proxy.fault = StoreFault(METADATA, answer)
    failed = run.step("commit")
    assert failed.is_retryable, failed
    assert stored.proxy.hits
    assert (sum(stored.sink.positions().values()), stored.sink.snapshots()) == before
    stored.proxy.fault = None
    heals(run, stored.sink)


def test_row_41_credentials_of_store_expire_in_write(stored: Stored) -> None:
    run = planned(stored.sink)
    stored.proxy.fault = StoreFault(DATA_FILE, EXPIRED)
    assert "ExpiredToken" in write_fails(run, stored.sink).message or stored.proxy.hits
    stored.proxy.fault = None
    heals(run, stored.sink)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", "768k") as folder:
        yield folder


def test_row_39_disk_that_is_full_announces_nothing(make_sink: MakeSink, disk: Path) -> None:
    sink = make_sink(**{"iceberg.catalog.warehouse": f"file://{disk}"})
    run = planned(sink, 2_000, pad=6_000)
    assert "No space left on device" in write_fails(run, sink).message
    enlarge(disk)
    heals(run, sink)
