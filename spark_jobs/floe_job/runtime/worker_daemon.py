"""The daemon that Spark forks Python workers from, with the heavy libraries already imported.

Used as ``spark.python.daemon.module``: Spark ends idle workers after a minute, and a fork of this process is ready at
once where a fresh worker would import for seconds. On a Connect server it lies under a name outside of any package:
there floe's own modules come with each session, in that session's version.
"""

import gc
import sys
from zipimport import zipimporter

import confluent_kafka  # noqa: F401
import pyiceberg.io.pyarrow  # noqa: F401
from pyspark.daemon import manager

if __spec__ is not None and __spec__.parent:
    import floe_job.task.read_task  # noqa: F401


class SparksArchive(zipimporter):
    """An archive of Spark's that stays as it is: workers would read its table of contents anew before each task."""

    def invalidate_caches(self) -> None:
        """Know it all."""


def run() -> None:
    """Be the daemon."""
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            sys.path_importer_cache[path] = SparksArchive(path)
    gc.freeze()  # workers look for garbage after each task, and would copy all of this to do so
    manager()


if __name__ == "__main__":
    run()
