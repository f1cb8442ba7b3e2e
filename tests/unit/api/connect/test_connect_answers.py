"""floe's answers to the calls of Connect's API, field by field beside those that a real worker gave."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any

import pytest

from floe.api.connect import offset_changes
from floe.status.record_codec import dump, key_of
from tests.support.api.records import record
from tests.support.api.site import Site
from tests.support.repository import DOCS
from tests.support.rest.connect_calls import ANSWERS, CALLS, TOPIC, differences, run, without_own
from tests.support.rest.connect_differences import DIFFERENCES, unexplained
from tests.support.rest.floe_worker import FloeWorker

PAGE = (DOCS / "reference" / "connect-rest.md").read_text(encoding="utf-8")
REAL: dict[str, Any] = json.loads(ANSWERS.read_text())


@pytest.fixture
def ours(site: Site, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What floe answers to all calls."""
    dag = SimpleNamespace(params={"skip_to": None}, create_dagrun=lambda **_: None)
    latest = SimpleNamespace(get_latest_version_of_dag=lambda name, session: dag)
    monkeypatch.setattr(offset_changes, "DBDagBag", lambda: latest)
    worker = FloeWorker(site)
    return {name: without_own(answer).to_json() for name, answer in run(worker.send, worker.settle).items()}


def test_all_calls_are_recorded() -> None:
    assert list(REAL) == [call.name for call in CALLS]


def test_floe_answers_as_a_worker_but_for_the_table(ours: dict[str, Any]) -> None:
    found = {name: unexplained(name, differences(REAL[name], ours[name])) for name in REAL}
    assert {name: (paths, REAL[name], ours[name]) for name, paths in found.items() if paths} == {}


def test_each_row_of_the_table_is_a_difference(ours: dict[str, Any]) -> None:
    paths = {name: list(differences(REAL[name], ours[name])) for name in REAL}
    unused = [
        one.row
        for one in DIFFERENCES
        if not any(one.covers(name, path) for name, found in paths.items() for path in found)
    ]
    assert unused == []


def test_table_of_the_manual_has_these_rows() -> None:
    part = PAGE.partition("## Differences")[2]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in part.splitlines() if line.startswith("| ")]
    shown = [row for row in rows[1:] if not re.fullmatch(r"\W*", row)]
    assert set(shown) >= {one.row for one in DIFFERENCES}


def test_offsets_have_the_form_of_a_worker(site: Site) -> None:
    site.add_file("one", {"name": "one"})
    site.add_dag("one", "floe", "broken")
    site.set_variable(key_of("one"), dump(record("one", TOPIC, "db.orders", partitions=1)))
    (entry,) = site.client("/connect").get("/connectors/one/offsets").json()["offsets"]
    assert {name: set(part) for name, part in entry.items()} == {
        "partition": {"kafka_topic", "kafka_partition"},
        "offset": {"kafka_offset"},
    }
