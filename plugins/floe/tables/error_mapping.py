"""What catalogs and stores raise at a commit, as errors of floe."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyiceberg.exceptions import CommitFailedException, ForbiddenError, UnauthorizedError, ValidationError

from floe.catalogs.exceptions import CatalogUnreachable
from floe.config.secrets.mask import clip
from floe.exceptions import FloeError
from floe.tables.exceptions import FilesNotWritten, TableRefused
from floe.tables.snapshot_commit import COMES_AGAIN


@contextmanager
def sent(table: str) -> Iterator[None]:
    """Turn what a commit raises into a conflict, a refusal, or CatalogUnreachable: look again."""
    try:
        yield
    except (CommitFailedException, TableRefused):
        raise
    except (ForbiddenError, UnauthorizedError) as error:
        msg = f"not allowed to commit to table {table!r}: {error}. Check the catalog's credentials and grants."
        raise TableRefused(msg) from error
    except ValidationError as error:
        msg = (
            f"the metadata that a commit to table {table!r} makes is not valid ({clip(str(error), 300)}): others changed the "
            "table. Its rows wait. Take back what was changed in it, or roll it back to a snapshot before"
        )
        raise TableRefused(msg) from error
    except Exception as error:
        # an answer that is not a clear no may hide a commit that landed: whatever it was, the table tells
        msg = f"the outcome of a commit to table {table!r} is unknown ({type(error).__name__}: {error})"
        raise CatalogUnreachable(msg) from error


@contextmanager
def file_access(table: str) -> Iterator[None]:
    """Turn what reading and writing a table's files before a commit raises into floe's errors: nothing was sent yet.

    Raises CatalogUnreachable for what may pass, as a store that is away, and FilesNotWritten for what comes again.
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
        raise TableRefused(msg) from error
    except COMES_AGAIN as error:
        msg = (
            f"files of table {table!r} cannot be read or rewritten ({_told(error)}). Nothing was "
            "committed and no row was changed. Compact the table (rewrite_data_files) and clear the run."
        )
        raise FilesNotWritten(msg) from error
    except Exception as error:
        # the store is anything: fsspec, Arrow, botocore
        msg = (
            f"files of table {table!r} could not be read or written ({_told(error)}). Nothing was sent to the catalog."
        )
        raise CatalogUnreachable(msg) from error


def _told(error: Exception) -> str:
    """Return an error with the file that it is about, where that is known: Arrow's own name none."""
    files = [note for note in getattr(error, "__notes__", ()) if note not in str(error)]
    return f"{type(error).__name__}: {error}" + "".join(f", in {file}" for file in files[:1])
