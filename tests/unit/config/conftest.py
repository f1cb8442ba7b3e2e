"""Connectors to bend: factories of the smallest valid one, of its problems, and of files."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from floe.config import ConfigError, Connector, parse_connector
from tests.support.connectors import MINIMAL


@pytest.fixture
def document() -> Callable[..., dict[str, object]]:
    """Make the smallest valid flat map, with keys over it and without the keys named in ``without``."""

    def make(over: dict[str, object] | None = None, without: tuple[str, ...] = ()) -> dict[str, object]:
        return {key: value for key, value in {**MINIMAL, **(over or {})}.items() if key not in without}

    return make


@pytest.fixture
def connector(document: Callable[..., dict[str, object]]) -> Callable[..., Connector]:
    """Parse the smallest valid connector, with keys over it."""

    def make(over: dict[str, object] | None = None, without: tuple[str, ...] = ()) -> Connector:
        return parse_connector(document(over, without))

    return make


@pytest.fixture
def problems(connector: Callable[..., Connector]) -> Callable[..., tuple[str, ...]]:
    """Parse a connector that is wrong, and give its problems."""

    def make(over: dict[str, object] | None = None, without: tuple[str, ...] = ()) -> tuple[str, ...]:
        with pytest.raises(ConfigError) as caught:
            connector(over, without)
        return caught.value.problems

    return make


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a connector file: an object as JSON, text and bytes as they are."""

    def make(name: str, content: object = None) -> Path:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content or MINIMAL))
        return path

    return make
