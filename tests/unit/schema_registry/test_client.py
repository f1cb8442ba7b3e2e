"""Schemas by their id: each asked once, with those that it refers to."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from floe.config.schema_registry.apicurio import read_apicurio
from floe.config.schema_registry.confluent import read_confluent
from floe.schema_registry import client
from floe.schema_registry.client import Registries, SchemaRegistry
from floe.schema_registry.exceptions import (
    NotARegistry,
    RegistryMisconfigured,
    RegistryUnreachable,
    SchemaMissing,
    SchemaRefused,
)
from floe.schema_registry.schema import SchemaReference
from floe.schema_registry.schema_files import SchemaFiles
from tests.support.registry.double import UNKNOWN, Reply, Request, as_json, schema, serving
from tests.support.registry.settings import found_in, settings


def referring(*names: str) -> Reply:
    return schema("{}", references=[{"name": name, "subject": name, "version": 1} for name in names])


def routes(**by_end: Reply) -> Any:
    """Answer by the last part of the path that is a name: an id, or a subject."""

    def answer(request: Request) -> Reply:
        parts = request.path.partition("?")[0].split("/")
        return by_end.get(f"id{parts[-1]}" if parts[1] == "schemas" else parts[2], UNKNOWN)

    return answer


def test_id_is_asked_once() -> None:
    with serving(schema()) as double:
        registry = SchemaRegistry(settings(double.url))
        assert registry.schema(7) is registry.schema(7)
        assert double.paths == ["/schemas/ids/7"]


@pytest.mark.parametrize(("said", "meant"), [({}, "AVRO"), ({"schemaType": "PROTOBUF"}, "PROTOBUF")])
def test_type_is_read_and_avro_if_not_given(said: dict[str, str], meant: str) -> None:
    with serving(schema("text", **said)) as double:
        found = SchemaRegistry(settings(double.url)).schema(1).schema
    assert (found.type, found.text, found.references) == (meant, "text", ())


GUID = UUID("11111111-2222-3333-4444-555555555555")


def test_schema_is_read_by_its_guid() -> None:
    with serving(schema('"long"')) as double:
        found = SchemaRegistry(settings(double.url)).schema(GUID.int, "guid")
        assert found.schema.text == '"long"' and double.paths == [f"/schemas/guids/{GUID}"]


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (UNKNOWN, f"no schema {GUID}"),
        (as_json({"error_code": 404, "message": "HTTP 404 Not Found"}, 404), "the path /schemas/guids"),
        (Reply(404, b"<html>"), "the path /schemas/guids"),
    ],
)
def test_unknown_guid_is_about_its_records_only(reply: Reply, why: str) -> None:
    with serving(reply) as double, pytest.raises(SchemaMissing, match=why) as caught:
        SchemaRegistry(settings(double.url)).schema(GUID.int, "guid")
    assert caught.value.schema_id == str(GUID)


def test_page_in_place_of_a_guid_is_no_registry() -> None:
    with serving(Reply(200, b"<html>")) as double, pytest.raises(NotARegistry):
        SchemaRegistry(settings(double.url)).schema(GUID.int, "guid")


def test_unknown_type_is_about_this_id_only() -> None:
    with serving(schema(schemaType="THRIFT")) as double, pytest.raises(SchemaRefused, match="THRIFT") as caught:
        SchemaRegistry(settings(double.url)).schema(5)
    assert caught.value.schema_id == 5


def test_rules_of_a_schema_are_named() -> None:
    rules = {"domainRules": [{"name": "pii", "type": "ENCRYPT"}, {"type": "CEL"}], "migrationRules": None}
    with serving(schema(ruleSet=rules)) as double:
        assert SchemaRegistry(settings(double.url)).schema(1).schema.rules == ("ENCRYPT", "CEL")


def test_unknown_id_is_asked_once_in_a_run() -> None:
    with serving(UNKNOWN) as double:
        registry = SchemaRegistry(settings(double.url))
        for _ in range(3):
            with pytest.raises(SchemaMissing, match="no schema 9") as caught:
                registry.schema(9)
            assert caught.value.schema_id == 9
        assert len(double.requests) == 1
        double.answers = lambda _: schema()
        registry.start_run()
        assert registry.schema(9).schema.type == "AVRO"


@pytest.mark.parametrize("schema_id", [-1, 1 << 31])
def test_impossible_id_is_unknown_without_a_request(schema_id: int) -> None:
    with serving(schema()) as double:
        with pytest.raises(SchemaMissing):
            SchemaRegistry(settings(double.url)).schema(schema_id)
        assert double.requests == []


def test_many_unknown_ids_end_the_requests_not_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MAX_UNUSABLE", 3)
    with serving(routes(id1=schema(), id9=schema())) as double:
        registry = SchemaRegistry(settings(double.url))
        registry.schema(1)
        for schema_id in (2, 3, 4):
            with pytest.raises(SchemaMissing, match="has no schema"):
                registry.schema(schema_id)
        for schema_id in (5, 9, 5):
            with pytest.raises(SchemaMissing, match=f"schema {schema_id} was not looked up"):
                registry.schema(schema_id)
        assert len(double.requests) == 4
        assert registry.schema(1).schema.text == '"string"'
        registry.start_run()
        assert registry.schema(9).schema.text == '"string"'


def test_references_come_before_what_refers_to_them() -> None:
    answers = routes(id1=referring("b", "c"), b=referring("d"), c=referring("d"), d=schema('"int"'))
    with serving(answers) as double:
        found = SchemaRegistry(settings(double.url)).schema(1)
        assert [name.subject for name, _ in found.referenced] == ["d", "b", "c"]
        assert len(double.requests) == 4
        assert double.paths[1] == "/subjects/b/versions/1?deleted=true"


def test_references_in_a_circle_end() -> None:
    with serving(routes(id1=referring("b"), b=referring("c"), c=referring("b"))) as double:
        found = SchemaRegistry(settings(double.url)).schema(1)
    assert {name.subject for name, _ in found.referenced} == {"b", "c"}


def test_missing_reference_is_about_this_id_only() -> None:
    with serving(routes(id1=referring("gone"), id2=schema())) as double:
        registry = SchemaRegistry(settings(double.url))
        with pytest.raises(SchemaRefused, match="schema 1 cannot be used: it refers to 'gone' version 1, which"):
            registry.schema(1)
        assert registry.schema(2).referenced == ()


def test_references_without_end_are_refused() -> None:
    def answer(request: Request) -> Reply:
        depth = 0 if "ids" in request.path else int(request.path.split("/")[2])
        return referring(str(depth + 1))

    with serving(answer) as double, pytest.raises(SchemaRefused, match="50 levels"):
        SchemaRegistry(settings(double.url)).schema(1)


def test_names_of_subjects_are_quoted_in_paths() -> None:
    with serving(schema()) as double:
        SchemaRegistry(settings(double.url)).version(SchemaReference("x", "a/b c?d", "1"))
        assert double.paths == ["/subjects/a%2Fb%20c%3Fd/versions/1?deleted=true"]


@pytest.mark.parametrize(
    "reply",
    [
        as_json([]),
        as_json({}),
        as_json({"schema": 1}),
        as_json({"schema": "x", "references": 1}),
        as_json({"schema": "x", "references": [1]}),
        as_json({"schema": "x", "references": [{"name": "a"}]}),
        as_json({"error_code": 404, "message": "HTTP 404 Not Found"}, 404),
        as_json({"message": "no Route matched"}, 404),
        Reply(404, b"not found"),
        Reply(200, b'{"schema": "x"'),
        Reply(200, b"[" * 100_000),
        Reply(200, b"\xff\xfe"),
        Reply(200, b""),
        Reply(204),
        Reply(400, b"{}"),
    ],
)
def test_other_answers_are_not_those_of_a_registry(reply: Reply) -> None:
    with serving(reply) as double, pytest.raises(NotARegistry, match="not one of a schema registry"):
        SchemaRegistry(settings(double.url)).schema(1)


def test_next_process_reads_the_schema_from_disk(tmp_path: Path) -> None:
    with serving(routes(id1=referring("b"), b=schema('"int"'))) as double:
        first = SchemaRegistry(settings(double.url), SchemaFiles(tmp_path)).schema(1)
        second = SchemaRegistry(settings(double.url), SchemaFiles(tmp_path)).schema(1)
        other = settings(double.url, bearer_auth_token="other")
        SchemaRegistry(other, SchemaFiles(tmp_path)).schema(1)
        assert first == second
        assert len(double.requests) == 4


def one_process(url: str, folder: Path) -> SchemaRegistry:
    return SchemaRegistry(settings(url, max_retries="0"), SchemaFiles(folder))


def test_id_of_a_registry_set_up_again_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(schema('"int"')) as double:
        assert one_process(double.url, tmp_path).schema(1).schema.text == '"int"'
        double.answers = lambda _: schema('"long"')
        assert one_process(double.url, tmp_path).schema(1).schema.text == '"int"'
        monkeypatch.setattr(client, "MAX_AGE", 0.0)
        assert one_process(double.url, tmp_path).schema(1).schema.text == '"long"'
        double.answers = lambda _: UNKNOWN
        with pytest.raises(SchemaMissing):
            one_process(double.url, tmp_path).schema(1)


def test_schemas_on_disk_are_used_while_the_registry_is_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(schema()) as double:
        before = one_process(double.url, tmp_path)
        before.schema(1)
        before.schema(2)
        monkeypatch.setattr(client, "MAX_AGE", 0.0)
        double.answers = lambda _: Reply(503)
        registry = one_process(double.url, tmp_path)
        asked = len(double.requests)
        assert registry.schema(1) == registry.schema(2)
        assert len(double.requests) == asked + 1, "it is not waited for with each schema"
        assert "schemas that are on disk are used" in caplog.text
        with pytest.raises(RegistryUnreachable):
            registry.schema(3)
        double.answers = lambda _: schema('"long"')
        monkeypatch.setattr(client, "MAX_AGE", 3600.0)
        (tmp_path / next(file.name for file in tmp_path.iterdir() if file.stem.endswith("-2"))).unlink()
        registry.start_run()
        assert registry.schema(2).schema.text == '"long"', "what came from the disk is not kept over the run"


def test_age_of_a_schema_begins_when_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(client.time, "monotonic", lambda: now)
    with serving(schema('"int"')) as double:
        registry = SchemaRegistry(settings(double.url))
        registry.schema(1)
        now = client.MAX_AGE - 1
        registry.schema(2)
        double.answers = lambda _: schema('"long"')
        now = client.MAX_AGE + 1
        registry.start_run()
        assert [registry.schema(one).schema.text for one in (1, 2)] == ['"long"', '"int"']


def test_versions_and_unknown_ids_are_not_kept_on_disk(tmp_path: Path) -> None:
    with serving(routes(b=schema())) as double:
        registry = SchemaRegistry(settings(double.url), SchemaFiles(tmp_path))
        registry.version(SchemaReference("b", "b", "1"))
        with pytest.raises(SchemaMissing):
            registry.schema(1)
    assert list(tmp_path.iterdir()) == []


def test_memory_keeps_the_last_schemas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MAX_SCHEMAS", 2)
    with serving(schema()) as double:
        registry = SchemaRegistry(settings(double.url))
        for schema_id in (1, 2, 1, 3, 1, 2):
            registry.schema(schema_id)
        assert [path[-1] for path in double.paths] == ["1", "2", "3", "2"]


def test_large_schemas_leave_memory_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MAX_CHARACTERS", 150)
    with serving(schema("x" * 100)) as double:
        registry = SchemaRegistry(settings(double.url))
        for schema_id in (1, 1, 2, 2, 1):
            registry.schema(schema_id)
        assert len(double.requests) == 3


def test_threads_ask_for_an_id_once() -> None:
    with serving(Reply(200, b'{"schema": "x"}', delay=0.05)) as double:
        registry = SchemaRegistry(settings(double.url))
        threads = [threading.Thread(target=registry.schema, args=(1,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert len(double.requests) == 1


def test_runs_share_schemas_and_not_unknown_ids(tmp_path: Path) -> None:
    with serving(routes(id1=schema())) as double:
        registries = Registries({"FLOE_CACHE_DIR": str(tmp_path)})
        for run in ("a", "a", "b"):
            registry = registries.of_run(settings(double.url), run)
            registry.schema(1)
            with pytest.raises(SchemaMissing):
                registry.schema(2)
        assert [path[-1] for path in double.paths] == ["1", "2", "2"]


@pytest.mark.parametrize(
    "given",
    [
        {"schema.registry.url": "${env:REGISTRY}"},
        {"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "${file:/secrets:login}"},
        {"bearer.auth.token": "${env:TOKEN}"},
    ],
)
def test_reference_that_was_not_resolved_is_not_sent(given: dict[str, str]) -> None:
    found = found_in(read_confluent, {"schema.registry.url": "http://registry"} | given, "value.converter.").settings
    assert found is not None
    with pytest.raises(RegistryMisconfigured, match="not resolved"):
        SchemaRegistry(found)


def test_error_of_a_schema_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(SchemaMissing("gone", 7)))  # noqa: S301 - its own
    assert (str(error), error.schema_id, error.code) == ("gone", 7, "FLOE-906")


def apicurio(double_url: str, version: int = 2) -> SchemaRegistry:
    found = found_in(read_apicurio, {"apicurio.registry.url": f"{double_url}/apis/registry/v{version}"}).settings
    assert found is not None
    return SchemaRegistry(found)


def test_apicurio_of_version_three_is_read() -> None:
    base = "/apis/registry/v3"
    typed = {"X-Registry-ArtifactType": "AVRO"}
    replies = {
        f"{base}/ids/contentIds/7": Reply(200, b'"x.A"', typed),
        f"{base}/ids/contentIds/7/references": as_json(
            [{"groupId": "g", "artifactId": "a", "version": "1.0", "name": "x.A"}]
        ),
        f"{base}/groups/g/artifacts/a/versions/1.0/content": Reply(200, b'{"type": "record"}', typed),
        f"{base}/groups/g/artifacts/a/versions/1.0/references": as_json([]),
    }
    with serving(lambda request: replies[request.path]) as double:
        found = apicurio(double.url, 3).schema(7)
    assert (found.schema.type, found.schema.text) == ("AVRO", '"x.A"')
    ((reference, text),) = found.referenced
    assert (reference, text.text) == (SchemaReference("x.A", "a", "1.0", "g"), '{"type": "record"}')


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, b"<!doctype html>"),
        Reply(200, b"  "),
        Reply(200, b"\xff"),
        as_json({"name": "NotFoundException", "error_code": 404}, 404),
        as_json({"error_code": 404}, 404),
        as_json([], 404),
        Reply(404, b"gone"),
    ],
)
def test_other_answers_are_not_those_of_apicurio(reply: Reply) -> None:
    with serving(reply) as double, pytest.raises(NotARegistry):
        apicurio(double.url).schema(1)


def test_references_of_apicurio_must_be_a_list() -> None:
    def answer(request: Request) -> Reply:
        return as_json({}) if request.path.endswith("references") else Reply(200, b'"int"')

    with serving(answer) as double, pytest.raises(NotARegistry, match="references"):
        apicurio(double.url).schema(1)
