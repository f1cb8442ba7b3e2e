"""A ledger of one commit."""

from collections.abc import Callable

import pytest

from floe.model.holding import LiveRange
from floe.model.ledger import Ledger
from tests.support.ledgers import ANCHOR, span


@pytest.fixture
def ledger() -> Callable[..., Ledger]:
    """Make the ledger that some live commits, each (start, end, since, route), have left."""

    def make(*commits: tuple[int, int, int, str], partition: int = 0) -> Ledger:
        made = Ledger("C1")
        for start, end, since, route in commits:
            live = LiveRange(span(start, end, partition), since, (start, "metadata"))
            made = made.with_live([(live, route)]).anchored(ANCHOR)
        return made

    return make
