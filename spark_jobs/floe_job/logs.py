"""Logging in the driver and in Spark's Python workers: one line per record, with all known secrets hidden."""

import logging
from typing import TextIO

from floe.config.secrets.mask import hide

FORMAT = "%(levelname)s %(name)s: %(message)s"


class MaskingFormatter(logging.Formatter):
    """Hides secrets in the whole line, with the traceback that follows it."""

    def format(self, record: logging.LogRecord) -> str:
        return hide(super().format(record))


def start_logging(stream: TextIO, level: int = logging.INFO) -> None:
    """Log to ``stream`` from ``level`` on; nothing changes in a process that logs already."""
    root = logging.getLogger()
    if root.handlers:
        return
    handler = logging.StreamHandler(stream)
    handler.setFormatter(MaskingFormatter(FORMAT))
    root.addHandler(handler)
    root.setLevel(level)
