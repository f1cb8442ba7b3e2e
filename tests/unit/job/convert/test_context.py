from __future__ import annotations

from pathlib import Path

import pytest

from floe.schema_registry.exceptions import SchemaMissing
from floe_job.contract.result import SchemaLookups
from floe_job.convert import context
from floe_job.convert.context import ConverterContext, LookupRecorder
from tests.support.registry.double import UNKNOWN, Reply, Request, schema, serving
from tests.support.registry.settings import settings


@pytest.fixture(autouse=True)
def own_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without registries, as a worker does."""
    monkeypatch.setenv("FLOE_CACHE_DIR", str(tmp_path))
    context._registries.cache_clear()


def answer(request: Request) -> Reply:
    return schema() if request.path == "/schemas/ids/1" else UNKNOWN


def test_context_opens_a_registry_without_asking_it() -> None:
    with serving(answer) as double:
        ConverterContext.of_attempt("a", LookupRecorder()).schemas(settings(double.url))
        assert double.paths == []


def test_context_asks_for_a_schema_once_in_a_process() -> None:
    with serving(answer) as double:
        for attempt in ("a", "a", "b"):
            source = ConverterContext.of_attempt(attempt, LookupRecorder()).schemas(settings(double.url))
            assert source(1).schema.text == '"string"'
        assert double.paths == ["/schemas/ids/1"]


def test_context_asks_again_for_what_another_attempt_lacked() -> None:
    with serving(answer) as double:
        for attempt in ("a", "a", "b"):
            source = ConverterContext.of_attempt(attempt, LookupRecorder()).schemas(settings(double.url))
            with pytest.raises(SchemaMissing):
                source(2)
        assert double.paths == ["/schemas/ids/2"] * 2


def test_context_notes_what_was_found() -> None:
    recorder = LookupRecorder()
    assert recorder.lookups() == SchemaLookups()
    with serving(answer) as double:
        source = ConverterContext.of_attempt("a", recorder).schemas(settings(double.url))
        for schema_id in (3, 2, 3, *range(10, 20)):
            with pytest.raises(SchemaMissing):
                source(schema_id)
        assert recorder.lookups() == SchemaLookups(False, (3, 2, 10, 11, 12))
        assert recorder.lookups().are_all_unknown
        source(1)
    assert not recorder.lookups().are_all_unknown


def test_lookups_of_all_tasks_need_one_that_was_found() -> None:
    none, some, lost = SchemaLookups(), SchemaLookups(True, (7,)), SchemaLookups(False, (9, 8))
    assert not SchemaLookups.of_all([none]).are_all_unknown
    assert SchemaLookups.of_all([none, lost, lost]) == SchemaLookups(False, (8, 9))
    assert SchemaLookups.of_all([lost, some]) == SchemaLookups(True, (7, 8, 9))
