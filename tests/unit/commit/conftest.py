"""A lake for each test, and slices written for it."""

from tests.support.fixtures import aging, lake, short_waits, write
from tests.support.tables.landing import landing

__all__ = ["aging", "lake", "landing", "short_waits", "write"]
