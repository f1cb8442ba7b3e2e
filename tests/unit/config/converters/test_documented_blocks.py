"""Converters as the documentation of Kafka, Confluent, Apicurio, Debezium and others has them: only hosts are changed.

A file of ``documented/`` is one of them. ``without_effect``: its options that floe names as having none, with the reason;
every other one of values is read. ``warnings``: what else is said. ``refused``: for each problem, what its message says.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from floe.config import ConfigError, Connector, read_connector
from floe.config.converters.with_registry import has_registry, registry_of
from floe.config.secrets.detection import is_reference
from floe.config.worker_file import VARIABLE
from tests.support.connectors import JSON, MINIMAL

FOLDER = Path(__file__).with_name("documented")
BLOCKS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
TAKEN = [name for name, block in BLOCKS.items() if "refused" not in block]
REFUSED = [name for name, block in BLOCKS.items() if "refused" in block]
OTHER_KEYS = {key: value for key, value in MINIMAL.items() if key not in JSON}
OF_KEYS_AND_HEADERS = ("key.converter", "header.converter")
"""What nothing needs decoded: that it has no effect is said of each key."""

Load = Callable[[str], Connector]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Read the connector of a block, with its worker file."""

    def read(name: str) -> Connector:
        block = BLOCKS[name]
        if "worker" in block:
            worker = tmp_path / "worker.properties"
            lines = [f"{key}={value}\n" for key, value in block["worker"].items()]
            worker.write_text("".join(lines), encoding="latin-1")
            monkeypatch.setenv(VARIABLE, str(worker))
        file = tmp_path / "connector.json"
        file.write_text(json.dumps({**OTHER_KEYS, **block["connector"]}))
        return read_connector(file)

    return read


def options_without_effect(connector: Connector) -> tuple[dict[str, str], list[str]]:
    """Return what the warnings say of keys that have no effect, by key, and the other warnings."""
    found = [warning.partition(" has no effect: ") for warning in connector.warnings]
    keys = {key: why for key, _, why in found if why and not key.startswith(OF_KEYS_AND_HEADERS)}
    return keys, [text for text, _, why in found if not why]


def test_there_are_blocks_of_all_and_most_are_taken() -> None:
    assert len(TAKEN) >= 25
    for vendor in ("kafka", "confluent", "apicurio", "debezium", "strimzi", "redpanda", "aiven", "msk"):
        assert any(name.startswith(vendor) for name in BLOCKS)


@pytest.mark.parametrize("name", TAKEN)
def test_documented_block_is_taken(load: Load, name: str) -> None:
    connector = load(name)
    expected = BLOCKS[name].get("without_effect", {})
    found, others = options_without_effect(connector)
    assert others == BLOCKS[name].get("warnings", [])
    assert found.keys() == expected.keys()
    assert {key: why for key, why in found.items() if expected[key] not in why} == {}
    # as a worker reads it again
    if has_registry(connector.value_converter) and not _has_references(BLOCKS[name]):
        assert registry_of(connector.value_converter).addresses


@pytest.mark.parametrize("name", REFUSED)
def test_documented_block_is_refused_with_remedy(load: Load, name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(name)
    expected = BLOCKS[name]["refused"]
    assert len(caught.value.problems) == len(expected)
    for problem, (key, said) in zip(caught.value.problems, expected.items(), strict=True):
        assert problem.startswith(key) and said in problem


def _has_references(block: dict[str, Any]) -> bool:
    return any(is_reference(value) for value in block["connector"].values())
