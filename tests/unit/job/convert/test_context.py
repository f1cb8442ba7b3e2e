from __future__ import annotations

from pathlib import Path

import pytest

from floe.registry.exceptions import UnknownSchema
from floe_job.convert import context
from floe_job.convert.context import ConverterContext
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
        ConverterContext.of_attempt("a").schemas(settings(double.url))
        assert double.paths == []


def test_context_asks_for_a_schema_once_in_a_process() -> None:
    with serving(answer) as double:
        for attempt in ("a", "a", "b"):
            source = ConverterContext.of_attempt(attempt).schemas(settings(double.url))
            assert source(1).schema.text == '"string"'
        assert double.paths == ["/schemas/ids/1"]


def test_context_asks_again_for_what_another_attempt_lacked() -> None:
    with serving(answer) as double:
        for attempt in ("a", "a", "b"):
            source = ConverterContext.of_attempt(attempt).schemas(settings(double.url))
            with pytest.raises(UnknownSchema):
                source(2)
        assert double.paths == ["/schemas/ids/2"] * 2
