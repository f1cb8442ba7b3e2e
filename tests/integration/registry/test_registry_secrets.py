"""Secrets of a registry, in every way it takes them: after failed runs and good ones they can be read nowhere."""

from __future__ import annotations

import json
import traceback
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from floe.config import parse_connector
from floe.config.providers.allow_list import OperatorSettings
from floe.exceptions import FloeError
from floe.operators.connections import resolved
from stack.services.schema_registry import SchemaRegistry
from tests.support.canary import Canaries, files, topics
from tests.support.echo import Echo
from tests.support.registry.avro_values import datum, framed, record_schema
from tests.support.registry.certificates import Authority
from tests.support.registry.subjects import register
from tests.support.runs.pipeline import MakePipeline, Pipeline

CONFLUENT = "io.confluent.connect.avro.AvroConverter"
APICURIO = "io.apicurio.registry.utils.converter.AvroConverter"
PIZZA = record_schema("Pizza", id="int")
QUICK = {"retries.wait.ms": 1, "max.retries": 0}
DEAD_LETTERS = {
    "floe.deadletter.table": "db.letters",
    "errors.deadletterqueue.context.headers.enable": True,
    "errors.deadletterqueue.topic.replication.factor": 1,
}

Plant = Callable[[str], str]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what is cached, and what is temporary, in a folder that is walked through."""
    walked = tmp_path / "walked"
    (walked / "temporary").mkdir(parents=True)
    monkeypatch.setenv("FLOE_CACHE_DIR", str(walked / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(walked / "temporary"))
    monkeypatch.setenv("FLOE_CONFIG_PROVIDERS", f"env=CANARY_.*,file={tmp_path / 'secrets'}")


def basic(plant: Plant, url: str, folder: Path) -> dict[str, str]:
    return {
        "schema.registry.url": url,
        "basic.auth.credentials.source": "USER_INFO",
        "basic.auth.user.info": f"floe:{plant('+ %')}",
    }


def in_url(plant: Plant, url: str, folder: Path) -> dict[str, str]:
    login = {"basic.auth.credentials.source": "URL"}
    return {"schema.registry.url": url.replace("://", f"://floe:{plant('')}@"), **login}


def token(plant: Plant, url: str, folder: Path) -> dict[str, str]:
    given = {"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": plant("")}
    return {"schema.registry.url": url, "request.header.X-Api-Key": plant("\"'&"), **given}


def client_secret(plant: Plant, url: str, folder: Path) -> dict[str, str]:
    return {
        "schema.registry.url": url,
        "bearer.auth.credentials.source": "OAUTHBEARER",
        "bearer.auth.issuer.endpoint.url": f"{url}/token",
        "bearer.auth.client.id": "floe",
        "bearer.auth.client.secret": plant("/p@"),
    }


def key_password(plant: Plant, url: str, folder: Path) -> dict[str, str]:
    identity = Authority(folder).issue("client", password=plant(""))
    return {
        "schema.registry.url": url.replace("http:", "https:"),
        "ssl.ca.location": str(folder / "authority.pem"),
        "ssl.certificate.location": str(identity.certificate),
        "ssl.key.location": str(identity.key),
        "ssl.key.password": plant(""),
    }


def store_password(plant: Plant, url: str, folder: Path) -> dict[str, str]:
    (folder / "store.p12").write_bytes(b"no store")
    return {
        "schema.registry.url": url.replace("http:", "https:"),
        "schema.registry.ssl.truststore.location": str(folder / "store.p12"),
        "schema.registry.ssl.truststore.password": plant(""),
    }


def by_reference(plant: Plant, url: str, folder: Path) -> dict[str, str]:
    (folder / "registry.properties").write_text(f"token={plant('')}\nheader={plant('')}\n")
    return {
        "schema.registry.url": url,
        "basic.auth.credentials.source": "USER_INFO",
        "basic.auth.user.info": "floe:${env:CANARY_REGISTRY}",
        "request.header.X-Token": f"${{file:{folder / 'registry.properties'}:header}}",
    }


def apicurio_basic(plant: Plant, url: str, folder: Path) -> dict[str, str]:
    login = {"apicurio.auth.username": "floe", "apicurio.auth.password": plant("")}
    return {"apicurio.registry.url": url, **login}


def apicurio_client(plant: Plant, url: str, folder: Path) -> dict[str, str]:
    return {
        "apicurio.registry.url": url,
        "apicurio.auth.service.token.endpoint": f"{url}/token",
        "apicurio.auth.client.id": "floe",
        "apicurio.auth.client.secret": plant(""),
    }


WAYS = (
    basic,
    in_url,
    token,
    client_secret,
    key_password,
    store_password,
    by_reference,
    apicurio_basic,
    apicurio_client,
)


def connector(pipeline: MakePipeline, options: Mapping[str, Any], **more: Any) -> Pipeline:
    """Return a connector with its references looked up, as a task looks them up."""
    kind = APICURIO if "apicurio.registry.url" in options else CONFLUENT
    quick = {} if kind is APICURIO else QUICK
    keys = {f"value.converter.{key}": value for key, value in {**quick, **options}.items()}
    made = pipeline(**more)
    given = {**made.connector.properties, "value.converter": kind, **keys}
    given = {key: value for key, value in given.items() if key != "value.converter.schemas.enable"}
    parsed = parse_connector(given, operator=OperatorSettings.present())
    return Pipeline(made.bootstrap, made.topic, resolved(parsed))


def walk(canaries: Canaries, one: Pipeline, folder: Path, *said: str) -> None:
    """Look into topics, files, and what was said."""
    canaries.watch(
        topics(one.bootstrap, [one.topic, one.connector.control_topic]),
        files(folder),
        lambda: [("what was said", text.encode()) for text in said],
    )
    assert canaries.seen() == []


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_secret_of_a_refused_client_is_read_nowhere(
    way: Callable[[Plant, str, Path], dict[str, str]],
    pipeline: MakePipeline,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    canaries, echo, secrets = Canaries(), Echo(), tmp_path / "secrets"
    secrets.mkdir()

    def plant(hard: str) -> str:
        return canaries.plant(f"{way.__name__} {len(canaries.planted)}", hard=hard)

    monkeypatch.setenv("CANARY_REGISTRY", plant(""))
    one = connector(pipeline, way(plant, echo.address, secrets))
    one.produce([framed(1, datum(PIZZA, {"id": 1}), 8 if way.__name__.startswith("apicurio") else 4)])
    plan = one.plan()
    with pytest.raises(FloeError) as caught:
        one.write(plan)
    echo.close()
    said = "".join(traceback.format_exception(caught.value))
    walk(
        canaries,
        one,
        tmp_path / "walked",
        said,
        caplog.text,
        repr(one.connector),
        repr(plan),
        json.dumps(plan.to_json()),
    )


def test_secret_of_a_good_run_is_read_nowhere(
    pipeline: MakePipeline,
    tmp_path: Path,
    schema_registry: SchemaRegistry,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    canaries, secrets = Canaries(), tmp_path / "secrets"
    secrets.mkdir()
    monkeypatch.setenv("CANARY_REGISTRY", canaries.plant("of the environment"))
    options = by_reference(lambda _: canaries.plant(uuid.uuid4().hex), schema_registry.confluent_url, secrets)
    topic = f"dead-{uuid.uuid4().hex[:8]}"
    one = connector(pipeline, options, **DEAD_LETTERS, **{"errors.deadletterqueue.topic.name": topic})
    good = register(schema_registry.confluent_url, f"s-{uuid.uuid4()}", json.dumps(PIZZA))
    one.produce([framed(good, datum(PIZZA, {"id": 7})), framed(good, b""), framed(good + 10**6, b"\x02"), b"{}"])
    plan = one.run()
    assert one.column("id") == [7]
    canaries.watch(topics(one.bootstrap, [topic]))
    (secrets / "registry.properties").unlink()
    walk(canaries, one, tmp_path, caplog.text, repr(one.connector), repr(plan), json.dumps(plan.to_json()))
