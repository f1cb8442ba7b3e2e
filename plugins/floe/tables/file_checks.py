"""A table's files: what access to them raises, and whether announced ones count, so that none is forged."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from posixpath import normpath
from urllib.parse import urlsplit

from pyiceberg.exceptions import ForbiddenError, UnauthorizedError
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata

from floe.catalogs.exceptions import CatalogUnreachable
from floe.control.announcement import TableFiles
from floe.control.wire.events import DataFile, FileContent
from floe.exceptions import FloeError
from floe.tables.exceptions import AnnouncementVoid, FilesNotWritten, TableRefused
from floe.tables.snapshot_commit import COMES_AGAIN


def check_files(table: Table, table_files: TableFiles) -> None:
    """Raise AnnouncementVoid unless every announced file of a table counts, as :func:`check_data_files` says."""
    check_data_files(table, table_files.table, [f for spec in table_files.files for f in spec.files])


def check_data_files(table: Table, name: str, files: Sequence[DataFile]) -> None:
    """Raise AnnouncementVoid unless every file is inside the table, exists, and has the announced size."""
    roots = roots_of(table.metadata)
    seen: set[str] = set()
    for file in files:
        _check_name(name, file, roots)
        path = normpath(urlsplit(file.file_path).path)
        if path in seen:
            msg = f"{file.file_path!r} is announced twice for table {name!r}: nothing of it is committed"
            raise AnnouncementVoid(msg)
        seen.add(path)
    if len(files) < 2:  # a pool takes longer to start than one file to look up
        for file in files:
            _check_size(table, file)
        return
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda file: _check_size(table, file), files))


def roots_of(metadata: TableMetadata) -> list[str]:
    """Return the folders that a table's data files may be in."""
    data_path = metadata.properties.get("write.data.path")
    return [metadata.location, *([data_path] if data_path else [])]


def is_inside(path: str, roots: Sequence[str]) -> bool:
    """Return whether a data file is in one of the folders of its table."""
    return any(_inside(path, root) for root in roots)


def _check_name(table: str, file: DataFile, roots: list[str]) -> None:
    if file.content != FileContent.DATA or file.file_format.upper() != "PARQUET":
        msg = (
            f"{file.file_path!r} is announced for table {table!r} as {file.content.name} {file.file_format}: floe commits "
            "Parquet data files only"
        )
        raise AnnouncementVoid(msg)
    if not is_inside(file.file_path, roots):
        msg = (
            f"{file.file_path!r} is announced for table {table!r} but is outside {roots}: another process wrote to the "
            "control topic. Nothing was committed. Check who may write to the control topic."
        )
        raise AnnouncementVoid(msg)


def _inside(path: str, root: str) -> bool:
    """Return whether ``path`` is below ``root``, after ``.`` and ``..`` are taken out of both."""
    file, folder = urlsplit(path), urlsplit(root)
    if (file.scheme or "file", file.netloc) != (folder.scheme or "file", folder.netloc):
        return False
    # a name ends at ? or # for some stores and goes on for others: it must be inside either way
    literally = f"{file.path}?{file.query}#{file.fragment}"
    below = normpath(folder.path).rstrip("/") + "/"
    return all(normpath(name).startswith(below) for name in (file.path, literally))


def _check_size(table: Table, file: DataFile) -> None:
    try:
        size = len(table.io.new_input(file.file_path))
    except (FileNotFoundError, TypeError) as error:
        # TypeError: a folder has no size
        msg = (
            f"{file.file_path!r} was announced but does not exist: it was removed after it was written. Nothing was "
            "committed. Run again"
        )
        raise AnnouncementVoid(msg) from error
    except OSError as error:
        msg = f"{file.file_path!r} was announced but could not be opened ({type(error).__name__}: {error})"
        raise CatalogUnreachable(msg) from error
    if size != file.file_size_in_bytes:
        msg = (
            f"{file.file_path!r} has {size} bytes but was announced with {file.file_size_in_bytes}. Nothing was committed. "
            "Run again"
        )
        raise AnnouncementVoid(msg)


@contextmanager
def file_access(table: str) -> Iterator[None]:
    """Turn what reading and writing a table's files before a commit raises into floe's errors: nothing was sent yet.

    Raises CatalogUnreachable for what may pass, such as an unreachable store, and FilesNotWritten for what a retry repeats.
    """
    try:
        yield
    except FloeError:
        raise
    except (PermissionError, ForbiddenError, UnauthorizedError) as error:
        msg = (
            f"not allowed to read or write files of table {table!r}: {error}. Nothing was committed. Check the grants of "
            "Airflow's workers on the warehouse."
        )
        raise TableRefused(msg, code="FLOE-411") from error
    except COMES_AGAIN as error:
        msg = (
            f"files of table {table!r} cannot be read or rewritten ({_described(error)}). Nothing was "
            "committed and no row was changed. Compact the table (rewrite_data_files) and clear the run."
        )
        raise FilesNotWritten(msg) from error
    except Exception as error:
        # the store is anything: fsspec, Arrow, botocore
        msg = f"files of table {table!r} could not be read or written ({_described(error)}). Nothing was sent to the catalog."
        raise CatalogUnreachable(msg) from error


def _described(error: Exception) -> str:
    """Return an error with the file that it is about, where that is known: Arrow's own errors name none."""
    files = [note for note in getattr(error, "__notes__", ()) if note not in str(error)]
    return f"{type(error).__name__}: {error}" + "".join(f", in {file}" for file in files[:1])
