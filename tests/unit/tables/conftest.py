"""A lake for each test, and slices written for it."""

from tests.support.fixtures import aging, lake, short_waits, write

__all__ = ["aging", "lake", "short_waits", "write"]
