"""When dead letters are looked up again."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from floe.status.dead_letters import is_due
from floe.status.record import StatusRecord
from tests.support.status.records import MINUTE, NOW, commit, status, table


@pytest.mark.parametrize(
    ("looked_up", "committed", "due"),
    [
        (None, 30, True),
        (0, 0, False),
        (1, 0, True),
        (4, 30, False),
        (6, 30, False),
        (6, 2, True),
        (59, 70, False),
        (61, 90, True),
        (-10, 30, True),
    ],
)
def test_dead_letters_are_looked_up_when_due(looked_up: int | None, committed: int, due: bool) -> None:
    now = NOW + timedelta(days=1)
    present = status(now, 0, table("db.dead", commit(1, now - committed * MINUTE)))
    former = StatusRecord(present, dead_letters_at=None if looked_up is None else now - looked_up * MINUTE)
    assert is_due(former, present, "db.dead", now) is due
    assert is_due(former, present, None, now) is False
    assert is_due(None, present, "db.dead", now) is True
    assert is_due(former, replace(present, tables=None), "db.dead", now) is (looked_up in (None, 61, -10))
