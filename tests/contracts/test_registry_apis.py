"""What every API of a schema registry keeps to: an unknown schema is no error, and no other server passes for one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from floe.config.schema_registry.apicurio import read_apicurio
from floe.config.schema_registry.confluent import read_confluent
from floe.config.schema_registry.settings import IdKind, RegistryAddress, RegistrySettings
from floe.schema_registry.apis import APIS, Get, RegistryApi
from floe.schema_registry.client import SchemaRegistry
from floe.schema_registry.exceptions import NotARegistry, SchemaMissing
from floe.schema_registry.schema import SchemaReference, SchemaText
from tests.support.registry.double import PAGE, Reply, as_json, schema, serving
from tests.support.registry.settings import found_in

NAMED = SchemaReference("x.B", "b", "3")


@dataclass(frozen=True)
class Case:
    """One API: options with ``{url}``, the answers by path, and its answers about what it does not have."""

    name: str
    options: Mapping[str, str]
    replies: Mapping[str, Reply]
    unknown: Reply
    wrong_path: Reply

    def settings(self, url: str) -> RegistrySettings:
        read = read_apicurio if self.name.startswith("apicurio") else read_confluent
        found = found_in(read, {key: value.format(url=url) for key, value in self.options.items()}).settings
        assert found is not None
        return found

    def __str__(self) -> str:
        return self.name


def _apicurio(version: int) -> Case:
    base = f"/apis/registry/v{version}"
    listed = as_json([{"name": NAMED.name, "artifactId": NAMED.subject, "version": NAMED.version}])
    artifact = f"{base}/groups/default/artifacts/b/versions/3"
    kind = "globalIds" if version == 2 else "contentIds"
    replies = {
        f"{base}/ids/{kind}/1": Reply(200, b'"x.B"'),
        f"{base}/ids/{kind}/1/references": listed,
        artifact + ("" if version == 2 else "/content"): Reply(200, b'"int"'),
        f"{artifact}/references": as_json([]),
    }
    unknown = as_json({"name": "ContentNotFoundException"}, 404)
    options = {"apicurio.registry.url": f"{{url}}{base}", "apicurio.registry.retry-count": "0"}
    return Case(f"apicurio v{version}", options, replies, unknown, as_json({"name": "NotFoundException"}, 404))


CASES = [
    Case(
        "confluent",
        {"schema.registry.url": "{url}", "max.retries": "0"},
        {
            "/schemas/ids/1": schema('"x.B"', references=[{"name": "x.B", "subject": "b", "version": 3}]),
            "/subjects/b/versions/3?deleted=true": schema('"int"'),
        },
        as_json({"error_code": 40403}, 404),
        as_json({"error_code": 404}, 404),
    ),
    _apicurio(2),
    _apicurio(3),
]


def test_every_api_has_a_case() -> None:
    assert {case.name.split()[0] for case in CASES} == set(APIS)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_api_reads_a_schema_and_what_it_refers_to(case: Case) -> None:
    with serving(lambda request: case.replies.get(request.path, case.wrong_path)) as double:
        found = SchemaRegistry(case.settings(double.url)).schema(1)
    assert found.schema.text == '"x.B"'
    assert [(name, text.text) for name, text in found.referenced] == [(NAMED, '"int"')]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_api_says_what_is_unknown(case: Case) -> None:
    with serving(case.unknown) as double:
        registry = SchemaRegistry(case.settings(double.url))
        with pytest.raises(SchemaMissing):
            registry.schema(1)
        with pytest.raises(SchemaMissing):
            registry.version(NAMED)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_api_is_not_found_at_other_servers(case: Case) -> None:
    for reply in (PAGE, case.wrong_path, Reply(404, b"not found"), Reply(418, b"{}")):
        with serving(reply) as double:
            registry = SchemaRegistry(case.settings(double.url))
            with pytest.raises(NotARegistry):
                registry.schema(1)
            with pytest.raises(NotARegistry):
                registry.version(NAMED)


class EchoApi(RegistryApi):
    """An API that is not floe's: a schema is what its address says."""

    max_id = 9

    def by_id(self, get: Get, kind: IdKind, schema_id: int) -> SchemaText | None:
        answer, _ = get(f"/echo/{kind}/{schema_id}")
        return SchemaText(None, answer.body.decode()) if answer.status == 200 else None

    def by_reference(self, get: Get, reference: SchemaReference) -> SchemaText | None:
        return None


def test_new_api_needs_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(APIS, "echo", lambda _: EchoApi())
    with serving(lambda request: Reply(200, request.path.encode())) as double:
        settings = RegistrySettings("echo", (RegistryAddress(double.url),))
        assert SchemaRegistry(settings).schema(7).schema.text == "/echo/id/7"
        with pytest.raises(SchemaMissing):
            SchemaRegistry(settings).schema(10)
