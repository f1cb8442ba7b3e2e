"""Secrets hidden in what a task's libraries log: Airflow hides them whole, and floe where they were cut or respelled, too."""

from __future__ import annotations

import logging
import traceback

from floe.config.secrets.mask import hide


class LogMask(logging.Filter):
    """Hides secrets in each line, before it is written. A traceback with one in it becomes part of the text."""

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            text = record.getMessage()
        except (TypeError, ValueError, LookupError):  # the handler says what is wrong with it
            return True
        message = hide(text)
        if record.exc_info and record.exc_info[1] is not None:
            trace = "".join(traceback.format_exception(record.exc_info[1])).rstrip()
            if hide(trace) != trace:
                message, record.exc_info, record.exc_text = f"{message}\n{hide(trace)}", None, None
        if message != text:
            record.msg, record.args = message, ()
        return True


def mask_logs() -> None:
    """Hide secrets in all that this process logs from here on."""
    for handler in logging.getLogger().handlers:
        if not any(isinstance(one, LogMask) for one in handler.filters):
            handler.addFilter(LogMask())
