"""What is between floe and a catalog, and what may happen there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table


@dataclass
class Wire:
    """What is between floe and a catalog: it may act before a commit is sent, and lose or forge the answer.

    ``before``: called with the number of the attempt, from 0, before it is performed. ``after``: called so after it.
    """

    catalog: Catalog
    before: Callable[[int], None] = lambda _: None
    after: Callable[[int], None] = lambda _: None
    sent: int = 0

    def __post_init__(self) -> None:
        perform = self.catalog.commit_table

        def commit_table(table: Table, requirements: Any, updates: Any) -> Any:
            attempt, self.sent = self.sent, self.sent + 1
            self.before(attempt)
            response = perform(table, requirements, updates)
            self.after(attempt)
            return response

        self.catalog.commit_table = commit_table  # type: ignore[method-assign]


def fails_first(error: Exception, times: int = 1) -> Callable[[int], None]:
    """Raise ``error`` on the first attempts."""

    def act(attempt: int) -> None:
        if attempt < times:
            raise error

    return act


def once(action: Callable[[], object]) -> Callable[[int], None]:
    """Act on the first attempt only."""

    def act(attempt: int) -> None:
        if attempt == 0:
            action()

    return act
