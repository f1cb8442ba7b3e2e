"""The daemon that Spark forks Python workers from, with the heavy libraries already imported.

Used as ``spark.python.daemon.module``: Spark ends idle workers after a minute, and a fork of this process is ready at
once where a fresh worker would import for seconds. On a Connect server this file has a name outside of any package:
there each session provides floe's own modules in its own version.
"""

import gc
import sys
from zipimport import zipimporter

import confluent_kafka  # noqa: F401
import pyarrow.json  # noqa: F401
import pyiceberg.catalog
import pyiceberg.io.pyarrow  # noqa: F401
from pyspark.daemon import manager

if __spec__ is not None and __spec__.parent:
    import floe_job.task.read_task  # noqa: F401


class FixedArchive(zipimporter):
    """An archive that never changes, Spark's own or one of a session's: workers import from it as it was at first.

    They would read its table of contents again before each task, once for each package that was imported from it.
    """

    def invalidate_caches(self) -> None:
        """Do nothing: the archive cannot change."""


def run() -> None:
    """Run the worker daemon."""
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            sys.path_importer_cache[path] = FixedArchive(path)
    sys.path_hooks[:] = [FixedArchive if hook is zipimporter else hook for hook in sys.path_hooks]
    gc.freeze()  # workers collect garbage after each task, which would copy all of these pages
    manager()


if __name__ == "__main__":
    run()
