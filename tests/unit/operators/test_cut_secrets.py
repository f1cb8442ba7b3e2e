"""Wherever floe shortens a text, the secrets in it are hidden first: none is cut in two, so that half of it is left."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from floe.catalogs.code_guard import check_class
from floe.catalogs.errors import first_line
from floe.catalogs.exceptions import CatalogUnreachable, CodeRefused
from floe.config.secrets.mask import clip, learn
from floe.kafka.client_log import reason_of
from floe.model.exceptions import SealBroken
from floe.operators.failures import FAILURE_KEY, leave_failure, say_failure
from floe.operators.run_params import _shown
from floe.operators.stored_plan import opened


class Xcom:
    """Keeps what a task leaves."""

    def __init__(self) -> None:
        self.left: dict[str, str] = {}

    def xcom_push(self, key: str, value: str) -> None:
        self.left[key] = value


def left(text: str) -> str:
    ti = Xcom()
    leave_failure({"ti": ti}, CatalogUnreachable(text))  # type: ignore[arg-type, typeddict-item]
    return ti.left[FAILURE_KEY]


def last_lines(text: str) -> str:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("floe.operators.failures")
    log.addHandler(handler)
    try:
        say_failure({"exception": CatalogUnreachable(f"could not open it: {text}. Check {text}.")})  # type: ignore[typeddict-item]
    finally:
        log.removeHandler(handler)
    return "\n".join(lines)


def raised(act: Callable[[], object], kind: type[Exception]) -> str:
    with pytest.raises(kind) as caught:
        act()
    return str(caught.value)


EDGES: dict[str, tuple[Callable[[str], str], int]] = {
    "clip": (lambda text: clip(text, 300), 300),
    "catalog": (lambda text: first_line(ValueError(text)), 300),
    "librdkafka": (reason_of, 300),
    "param": (lambda text: _shown(text), 200),
    "class": (lambda text: raised(lambda: check_class("py-io-impl", text), CodeRefused), 200),
    "plan in XCom": (lambda text: raised(lambda: opened(text, _NONE, _NONE), SealBroken), 80),
    "failure in XCom": (left, 2000),
    "last lines": (last_lines, 80),
}
_NONE: Any = None


@pytest.mark.parametrize("edge", EDGES)
def test_secret_at_the_place_of_a_cut_is_hidden(edge: str) -> None:
    tell, limit = EDGES[edge]
    token = uuid.uuid4().hex * 6 + uuid.uuid4().hex[:8]
    learn({"token": token})
    for before in range(limit - 100, limit + 8, 3):
        message = tell("." * max(before, 0) + token)
        assert token[:5] not in message and token[-5:] not in message, (before, message)
