"""Schemas of a real registry, by Confluent's API and by Apicurio's own."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from floe.config.schema_registry.apicurio import read_apicurio
from floe.schema_registry.client import Registries, SchemaRegistry
from floe.schema_registry.exceptions import NotARegistry, RegistryUnreachable, SchemaMissing
from floe.schema_registry.schema import SchemaReference
from stack.services import schema_registry as stack
from stack.settings import free_port
from tests.support.registry.settings import found_in, settings
from tests.support.registry.subjects import register

ADDRESS = {"type": "record", "name": "Address", "namespace": "x", "fields": [{"name": "street", "type": "string"}]}
ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "x",
    "fields": [{"name": "id", "type": "long"}, {"name": "ship_to", "type": "x.Address"}],
}
PROTO = (
    'syntax = "proto3";\npackage x;\nimport "x/address.proto";\nmessage Order { int64 id = 1; Address ship_to = 2; }\n'
)
PROTO_ADDRESS = 'syntax = "proto3";\npackage x;\nmessage Address { string street = 1; }\n'
UNKNOWN = 999_999


@pytest.fixture
def subject() -> str:
    return f"orders {uuid.uuid4()}/value"


def apicurio(url: str, **options: str) -> SchemaRegistry:
    found = found_in(read_apicurio, {"apicurio.registry.url": url, **options})
    assert found.settings is not None
    return SchemaRegistry(found.settings)


def test_avro_schema_comes_with_its_references(schema_registry: stack.SchemaRegistry, subject: str) -> None:
    url = schema_registry.confluent_url
    register(url, f"{subject}.Address", json.dumps(ADDRESS))
    schema_id = register(url, subject, json.dumps(ORDER), references={"x.Address": f"{subject}.Address"})
    found = SchemaRegistry(settings(url)).schema(schema_id)
    assert (found.schema.type, json.loads(found.schema.text)) == ("AVRO", ORDER)
    ((reference, address),) = found.referenced
    assert reference == SchemaReference("x.Address", f"{subject}.Address", "1")
    assert (address.type, json.loads(address.text)) == ("AVRO", ADDRESS)


def test_protobuf_schema_comes_with_its_imports(schema_registry: stack.SchemaRegistry, subject: str) -> None:
    url = schema_registry.confluent_url
    register(url, f"{subject}.address", PROTO_ADDRESS, "PROTOBUF")
    references = {"x/address.proto": f"{subject}.address"}
    schema_id = register(url, subject, PROTO, "PROTOBUF", references)
    found = SchemaRegistry(settings(url)).schema(schema_id)
    assert (found.schema.type, found.schema.text) == ("PROTOBUF", PROTO)
    assert [(name.name, text.text) for name, text in found.referenced] == [("x/address.proto", PROTO_ADDRESS)]


def test_descriptor_in_base64_comes_as_registered(schema_registry: stack.SchemaRegistry, subject: str) -> None:
    from google.protobuf.timestamp_pb2 import DESCRIPTOR

    text = base64.b64encode(DESCRIPTOR.serialized_pb).decode()
    schema_id = register(schema_registry.confluent_url, subject, text, "PROTOBUF")
    assert SchemaRegistry(settings(schema_registry.confluent_url)).schema(schema_id).schema.text == text


def test_json_schema_has_its_type(schema_registry: stack.SchemaRegistry, subject: str) -> None:
    text = '{"type": "object", "properties": {"a": {"type": "integer"}}}'
    schema_id = register(schema_registry.confluent_url, subject, text, "JSON")
    found = SchemaRegistry(settings(schema_registry.confluent_url)).schema(schema_id).schema
    assert (found.type, json.loads(found.text)) == ("JSON", json.loads(text))


def test_unknown_id_is_about_this_id_only(schema_registry: stack.SchemaRegistry, subject: str) -> None:
    schema_id = register(schema_registry.confluent_url, subject, '"string"')
    registry = SchemaRegistry(settings(schema_registry.confluent_url))
    with pytest.raises(SchemaMissing, match=f"has no schema {UNKNOWN}"):
        registry.schema(UNKNOWN)
    assert registry.schema(schema_id).schema.text == '"string"'


@pytest.mark.parametrize("path", ["", "/", "/apis/registry/v2"])
def test_apicurio_has_the_schema_by_both_ids(schema_registry: stack.SchemaRegistry, subject: str, path: str) -> None:
    url = schema_registry.confluent_url
    register(url, f"{subject}.Address", json.dumps(ADDRESS))
    content_id = register(url, subject, json.dumps(ORDER), references={"x.Address": f"{subject}.Address"})
    registry = apicurio(schema_registry.url + path)
    named = registry.version(SchemaReference("", subject, "1"))
    by_content = registry.schema(content_id, "contentId")
    assert named == by_content
    assert json.loads(by_content.schema.text) == ORDER
    assert [(name.name, json.loads(text.text)) for name, text in by_content.referenced] == [("x.Address", ADDRESS)]
    ids = {}
    for kind in ("globalId", "contentId"):
        with pytest.raises(SchemaMissing):
            registry.schema(UNKNOWN, kind)
        ids[kind] = registry.schema(1, kind).schema.text
    assert all(ids.values())


def test_unknown_version_is_about_this_name_only(schema_registry: stack.SchemaRegistry, subject: str) -> None:
    for registry in (SchemaRegistry(settings(schema_registry.confluent_url)), apicurio(schema_registry.url)):
        with pytest.raises(SchemaMissing):
            registry.version(SchemaReference("", subject, "1"))


def test_other_paths_of_the_server_are_not_a_registry(schema_registry: stack.SchemaRegistry) -> None:
    for path in ("", "/ui", "/apis/registry/v2", "/apis/ccompat/v7/subjects"):
        with pytest.raises(NotARegistry):
            SchemaRegistry(settings(schema_registry.url + path)).schema(1)
    with pytest.raises(NotARegistry):
        apicurio(f"{schema_registry.url}/apis/registry/v9").schema(1)


@pytest.fixture
def own_registry(tmp_path: Path) -> Iterator[stack.SchemaRegistry]:
    """A registry that the test may stop."""
    one = stack.SchemaRegistry(tmp_path / "registry", free_port())
    one.start()
    yield one
    one.stop()


def test_known_schemas_outlive_the_registry(own_registry: stack.SchemaRegistry, tmp_path: Path) -> None:
    found = settings(own_registry.confluent_url)
    schema_id = register(own_registry.confluent_url, "a", '"string"')
    environ = {"FLOE_CACHE_DIR": str(tmp_path / "cache")}
    registries = Registries(environ)
    before = registries.of_run(found, "one").schema(schema_id)
    own_registry.stop()
    assert not own_registry.running
    assert registries.of_run(found, "two").schema(schema_id) == before
    assert Registries(environ).of_run(found, "three").schema(schema_id) == before
    with pytest.raises(RegistryUnreachable, match="Connection refused"):
        registries.of_run(found, "two").schema(schema_id + 1)
