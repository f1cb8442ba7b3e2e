"""For all tests."""

from __future__ import annotations

import signal
import threading


def pytest_configure() -> None:
    """End on SIGTERM as on Ctrl-C: brokers and schedulers of the session are stopped on the way out."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
