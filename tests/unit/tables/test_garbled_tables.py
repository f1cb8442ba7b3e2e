"""What others write into a table stops no other table: it is read as theirs, or the table refuses."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pyiceberg.exceptions import ValidationError

from floe.model.ledger import Ledger
from floe.model.ledger_codec import read_properties
from floe.recovery.rollback import rolled_back, with_gained
from floe.tables.exceptions import REFUSALS, TableRefused
from floe.tables.history import NEW_OFFSETS, ROUTE
from floe.tables.snapshot_summary import committed_offsets
from tests.support.tables.foreign_changes import rewrite_metadata, roll_back
from tests.support.tables.lake import CLUSTER, GROUP, LEDGER, OFFSETS, OTHER_TABLE, TABLE, Lake, expected
from tests.support.tables.landing import Landing
from tests.support.tables.slices import write_slice

Change = Callable[[dict[str, Any]], None]
DEEP = "[" * 100_000


def summary(name: str, text: str) -> Change:
    return lambda fields: fields["snapshots"][-1]["summary"].update({name: text})


def at(*path: str | int, to: Any) -> Change:
    def change(fields: Any) -> None:
        for key in path[:-1]:
            fields = fields[key]
        fields[path[-1]] = to

    return change


PASSED_BY: dict[str, Change] = {
    **{
        f"control offsets {text[:20]}": summary(OFFSETS, text) for text in ("x", "[1]", '{"0":-1}', '{"0":1e400}', DEEP)
    },
    "history": at("properties", "floe.history", to=DEEP),
    "a time of no calendar": at("last-updated-ms", to=2**60),
}
REFUSED: dict[str, Change] = {
    "ledger": at("properties", LEDGER, to=DEEP),
    "totals": summary("total-records", "many"),
    "type": at("schemas", 0, "fields", 2, "type", to="variant"),
    "schema": at("current-schema-id", to=99),
    "transform": at(
        "partition-specs", 0, "fields", to=[{"source-id": 9, "field-id": 1000, "name": "x", "transform": "x"}]
    ),
    "manifest list": at("snapshots", 0, "manifest-list", to="file:///nowhere/x.avro"),
    "property": at("properties", "owner", to=None),
}


@pytest.mark.parametrize("change", PASSED_BY.values(), ids=PASSED_BY)
def test_junk_in_a_table_is_passed_by(landing: Landing, change: Change) -> None:
    landing.land(landing.write((0, 0, 5)))
    rewrite_metadata(landing.lake, change)
    outcome = landing.land(landing.write((0, 5, 9)))
    assert (outcome.errors, outcome.behind) == ((), {})
    assert landing.rows() == (expected((0, 9)), expected((0, 9)))


@pytest.mark.parametrize("change", REFUSED.values(), ids=REFUSED)
def test_a_garbled_table_refuses_and_the_other_goes_on(landing: Landing, change: Change) -> None:
    landing.land(landing.write((0, 0, 5)))
    written = landing.write((0, 5, 9))
    with suppress(ValueError, ValidationError):  # of the client that puts it there, and reads it back
        rewrite_metadata(landing.lake, change)
    outcome = landing.land(written)
    assert outcome.errors == ()
    assert outcome.behind.keys() == {TABLE}
    assert landing.lake.rows(name=OTHER_TABLE) == expected((0, 9))
    assert outcome.end.behind.keys() == {TABLE}


def test_an_answer_that_is_none_is_no_refusal(landing: Landing, monkeypatch: pytest.MonkeyPatch) -> None:
    written = landing.write((0, 0, 5))
    committer = landing.committer(written, patience_ms=10)
    monkeypatch.setattr("floe.catalogs.providers.sql.catalog.read_metadata", _no_answer)
    outcome = committer.commit(written.plan.slices[0], written.announcement)
    assert not any(isinstance(error, REFUSALS) for error in outcome.errors)
    assert len(outcome.errors) == 2


def _no_answer(_: object) -> None:
    from pyiceberg.catalog.rest import TableResponse

    TableResponse.model_validate_json("<html>Bad Gateway</html>")


@pytest.mark.parametrize("name", [NEW_OFFSETS, ROUTE])
def test_a_garbled_summary_does_not_tell_what_it_added(landing: Landing, name: str) -> None:
    lake: Lake = landing.lake
    landing.land(landing.write((0, 0, 5)))
    first = lake.load().metadata.refs["main"].snapshot_id
    landing.land(landing.write((0, 5, 9)))
    rewrite_metadata(lake, summary(name, DEEP))
    table = lake.load()
    ledger = read_properties(LEDGER, table.metadata.properties)
    assert ledger is not None
    with pytest.raises(TableRefused, match="does not contain all"):
        with_gained(table, "main", GROUP, Ledger(CLUSTER, anchor=ledger.anchor.__class__(first, 1)), ledger)
    roll_back(lake, first)
    lost = rolled_back(lake.load(), "main", GROUP, ledger)
    assert lost is not None
    assert [list(spans) for spans in lost.values()] == [[(5, 9)]]


def test_invalid_control_offsets_block_a_takeover(landing: Landing) -> None:
    landing.land(landing.write((0, 0, 5)))
    rewrite_metadata(landing.lake, summary(OFFSETS, "x"))
    with pytest.raises(TableRefused, match="which contains no offsets"):
        committed_offsets(landing.lake.load().metadata, "main", OFFSETS)


def test_metadata_log_removes_no_file_of_others(lake: Lake) -> None:
    victim = lake.folder / "precious.parquet"
    victim.write_text("precious")
    other = lake.folder / "other.metadata.json"
    lake.create(name=OTHER_TABLE)
    other.write_text(lake.load(OTHER_TABLE).metadata.model_dump_json())
    lake.create(properties={"write.metadata.delete-after-commit.enabled": "true"})
    rewrite_metadata(lake, at("properties", "write.metadata.previous-versions-max", to="1"))
    own = [entry.metadata_file for entry in lake.load().metadata.metadata_log]
    foreign = [{"metadata-file": f"file://{path}", "timestamp-ms": 1} for path in (victim, other)]
    rewrite_metadata(lake, lambda fields: fields["metadata-log"].extend(foreign))
    write_slice(lake, (0, 0, 5)).land()
    assert victim.exists()
    assert other.exists()
    assert own
    assert not any(Path(urlsplit(location).path).exists() for location in own)
