"""What is made of the schemas of a registry: once for each id, and without what it was made for."""

from __future__ import annotations

import gc
import weakref

import pytest

from floe.schema_registry import exceptions as registry
from floe.schema_registry.schema import RegisteredSchema, SchemaText
from floe_job.convert.typed import schema_source
from floe_job.convert.typed.schema_source import CompiledSchema, compiled_by_id
from floe_job.exceptions import UnknownSchema, UnusableSchema


class Batch:
    """The records that a frame holds, as a decoder's does."""


def refused(schema_id: int) -> str:
    problem = f"schema {schema_id} has no fields"
    raise UnusableSchema(problem)


def test_schema_is_compiled_once() -> None:
    made: list[int] = []
    compiled = CompiledSchema(lambda schema_id: made.append(schema_id) or len(made))  # type: ignore[func-returns-value]
    assert [compiled.of(7), compiled.of(8), compiled.of(7)] == [1, 2, 1]
    assert made == [7, 8]


def test_unusable_schema_keeps_no_batch_in_memory() -> None:
    compiled = CompiledSchema(refused)
    batches: list[weakref.ref[Batch]] = []

    def decode() -> None:
        batch = Batch()
        batches.append(weakref.ref(batch))
        with pytest.raises(UnusableSchema, match="schema 7 has no fields"):
            compiled.of(7)

    for _ in range(3):
        decode()
    gc.collect()
    assert [batch() for batch in batches] == [None] * 3


def test_only_the_schemas_that_were_used_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_source, "MAX_COMPILED", 2)
    made: list[int] = []
    compiled = CompiledSchema(lambda schema_id: made.append(schema_id))
    for schema_id in (1, 2, 1, 3, 1, 2):
        compiled.of(schema_id)
    assert made == [1, 2, 3, 2]


def test_unusable_schema_is_named_once_with_its_id() -> None:
    def refuse(_: RegisteredSchema) -> int:
        problem = "it has no fields"
        raise UnusableSchema(problem)

    compiled = compiled_by_id(lambda _: RegisteredSchema(SchemaText("AVRO", "{}")), "AVRO", refuse)
    for _ in range(2):
        with pytest.raises(UnusableSchema, match=r"^schema 7: it has no fields$"):
            compiled.of(7)


def test_schema_that_is_not_known_yet_is_asked_for_again() -> None:
    asked: list[int] = []

    def source(schema_id: int) -> RegisteredSchema:
        asked.append(schema_id)
        if len(asked) == 1:
            problem = "the registry has no schema 7"
            raise registry.SchemaMissing(problem, schema_id)
        return RegisteredSchema(SchemaText("AVRO", "{}"))

    compiled = compiled_by_id(source, "AVRO", lambda schema: schema.schema.text)
    with pytest.raises(UnknownSchema, match="has no schema 7"):
        compiled.of(7)
    assert (compiled.of(7), len(asked)) == ("{}", 2)
