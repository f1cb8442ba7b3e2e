"""The root of floe's errors.

    FloeError
    ├── Retryable   the same call may succeed later (broker away, catalog away, conflict)
    └── Terminal    it will not succeed until somebody changes something

Each package names its own errors in its ``exceptions.py`` and mixes one of the two in; the retry policy of the DAGs
reads nothing else. A message says what was wrong, the value, and what to do next.
"""


class FloeError(Exception):
    """Any error that floe raises on purpose."""


class Retryable(FloeError):
    """The same call may succeed later, without anybody changing anything."""


class Terminal(FloeError):
    """The same call fails again until somebody changes something."""
