"""Why announcements do not count."""

import logging
from collections.abc import Callable, Iterable

import pytest

from floe.control.topic_reader import ControlMessage
from tests.support.control.announcements import find


@pytest.fixture
def reasons(caplog: pytest.LogCaptureFixture) -> Callable[..., str]:
    """Look for an announcement that does not count, and give what was logged about it."""

    def look(messages: Iterable[ControlMessage], *tables: str) -> str:
        with caplog.at_level(logging.WARNING):
            assert find(messages, *tables) is None
        assert "was ignored" in caplog.text
        assert "plan-1/0" in caplog.text
        return caplog.text

    return look
