"""The APIs of registries: which paths they have, and how their answers are read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol
from urllib.parse import quote
from uuid import UUID

from floe.config.schema_registry.settings import Api, IdKind, RegistrySettings
from floe.schema_registry.exceptions import NotARegistry, SchemaMissing, SchemaRefused
from floe.schema_registry.schema import SchemaReference, SchemaText, SchemaType, type_of
from floe.schema_registry.service import not_a_registry, parsed_json
from floe.schema_registry.transport import HttpAnswer

Get = Callable[[str], tuple[HttpAnswer, str]]
"""Asks for a path; returns the answer, 200 or 404, and the whole address."""


class RegistryApi(Protocol):
    """One API. A schema that the registry does not have is None; NotARegistry is raised for answers of other servers."""

    max_id: int

    def by_id(self, get: Get, kind: IdKind, schema_id: int) -> SchemaText | None:
        """Read a schema by its id."""
        ...

    def by_reference(self, get: Get, reference: SchemaReference) -> SchemaText | None:
        """Read the schema that another refers to."""
        ...


class ConfluentApi:
    """Confluent's API, which many registries have."""

    max_id = (1 << 31) - 1
    _MISSING = (40401, 40402, 40403)

    def by_id(self, get: Get, kind: IdKind, schema_id: int) -> SchemaText | None:
        return (
            self._by_guid(get, UUID(int=schema_id))
            if kind == "guid"
            else self._schema(*get(f"/schemas/ids/{schema_id}"))
        )

    def by_reference(self, get: Get, reference: SchemaReference) -> SchemaText | None:
        # a version that was deleted since may still be referred to
        path = f"/subjects/{quote(reference.subject, safe='')}/versions/{quote(reference.version, safe='')}"
        return self._schema(*get(f"{path}?deleted=true"))

    def _by_guid(self, get: Get, guid: UUID) -> SchemaText | None:
        answer, url = get(f"/schemas/guids/{guid}")
        try:
            return self._schema(answer, url)
        except NotARegistry:
            if answer.status != 404:
                raise
        msg = (
            f"the schema registry has no schema {guid}, as records name it in their headers: it does not know the path "
            "/schemas/guids of Confluent's API 8.0. Have producers write ids before values (PrefixSchemaIdSerializer)"
        )
        raise SchemaMissing(msg, str(guid))

    def _schema(self, answer: HttpAnswer, url: str) -> SchemaText | None:
        fields = parsed_json(answer, url)
        if not isinstance(fields, dict):
            raise not_a_registry(answer, url)
        if answer.status == 404:
            if fields.get("error_code") in self._MISSING:
                return None
            raise not_a_registry(answer, url)
        text, references = fields.get("schema"), fields.get("references") or []
        if not isinstance(text, str) or not isinstance(references, list):
            raise not_a_registry(answer, url)
        named = tuple(_reference(one, "subject", answer, url) for one in references)
        return SchemaText(_type(fields.get("schemaType") or "AVRO", url), text, named, _rules(fields.get("ruleSet")))


class ApicurioApi:
    """Apicurio's own API, of version 2 or 3: an answer is the schema itself, and its references are another one."""

    max_id = (1 << 63) - 1

    def __init__(self, version: int = 2) -> None:
        # version 3 has the content of a schema one level below what describes it
        self._content = "/content" if version >= 3 else ""

    _PATHS: Final[Mapping[IdKind, str]] = {"globalId": "globalIds", "contentId": "contentIds", "id": "globalIds"}
    _TYPE = "x-registry-artifacttype"

    def by_id(self, get: Get, kind: IdKind, schema_id: int) -> SchemaText | None:
        path = f"/ids/{self._PATHS[kind]}/{schema_id}"
        return self._schema(get, path, f"{path}/references")

    def by_reference(self, get: Get, reference: SchemaReference) -> SchemaText | None:
        group, subject, version = (quote(one, safe="") for one in reference.place)
        path = f"/groups/{group or 'default'}/artifacts/{subject}/versions/{version}"
        return self._schema(get, path + self._content, f"{path}/references")

    def _schema(self, get: Get, path: str, references_path: str) -> SchemaText | None:
        answer, url = get(path)
        if answer.status == 404:
            _check_missing(answer, url)
            return None
        text = _text(answer, url)
        listed, references_url = get(references_path)
        references = parsed_json(listed, references_url)
        if listed.status != 200 or not isinstance(references, list):
            raise not_a_registry(listed, references_url)
        named = tuple(_reference(one, "artifactId", listed, references_url) for one in references)
        return SchemaText(_type(answer.headers.get(self._TYPE), url), text, named)


APIS: Final[Mapping[Api, Callable[[RegistrySettings], RegistryApi]]] = {
    "confluent": lambda _: ConfluentApi(),
    "apicurio": lambda settings: ApicurioApi(3 if all("/registry/v3" in one.url for one in settings.addresses) else 2),
}


def _check_missing(answer: HttpAnswer, url: str) -> None:
    """Raise NotARegistry for an error that is not Apicurio's about a schema that it does not have."""
    fields = parsed_json(answer, url)
    name = fields.get("name") if isinstance(fields, dict) else None
    # the bare exception is about the path
    if not isinstance(name, str) or not name.endswith("NotFoundException") or name == "NotFoundException":
        raise not_a_registry(answer, url)


def _text(answer: HttpAnswer, url: str) -> str:
    try:
        text = answer.body.decode()
    except UnicodeDecodeError:
        raise not_a_registry(answer, url) from None
    # a page: no schema of the types that floe reads begins like this
    if not text.strip() or text.lstrip().startswith("<"):
        raise not_a_registry(answer, url)
    return text


def _type(name: object, url: str) -> SchemaType | None:
    try:
        return type_of(name)
    except ValueError as error:
        msg = f"the schema at {url} cannot be used: {error}"
        raise SchemaRefused(msg) from None


def _reference(fields: Any, subject: str, answer: HttpAnswer, url: str) -> SchemaReference:
    if not isinstance(fields, dict):
        raise not_a_registry(answer, url)
    name, place, version, group = (fields.get(key) for key in ("name", subject, "version", "groupId"))
    if not (isinstance(name, str) and isinstance(place, str) and isinstance(version, int | str)):
        raise not_a_registry(answer, url)
    return SchemaReference(name, place, str(version), group if isinstance(group, str) else "")


def _rules(fields: Any) -> tuple[str, ...]:
    """Return the types of all rules of a schema."""
    if not isinstance(fields, dict):
        return ()
    found = [rule for rules in fields.values() if isinstance(rules, list) for rule in rules if isinstance(rule, dict)]
    return tuple(dict.fromkeys(str(rule.get("type", json.dumps(rule)[:100])) for rule in found))
