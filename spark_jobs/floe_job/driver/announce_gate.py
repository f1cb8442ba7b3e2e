"""The last moment to stop a slice: before its announcement has begun it can be prevented, after that it is waited for."""

import threading

from floe.model.exceptions import WriteTimeout


class AnnounceGate:
    """Lets one announcement begin unless the time for its slice is over. Used by two threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_announcing = self._is_closed = False

    def begin(self) -> None:
        """Begin the announcement. Raises WriteTimeout once the gate is closed."""
        with self._lock:
            if self._is_closed:
                msg = "the time for this slice is over: it is not announced"
                raise WriteTimeout(msg)
            self._is_announcing = True

    def close(self) -> bool:
        """Close the gate unless the announcement has begun; return whether it is closed."""
        with self._lock:
            self._is_closed = not self._is_announcing
            return self._is_closed
