"""A registry that answers, lacks subjects, is none, refuses, or is away; and the time that it gives."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from floe.doctor.check import Case
from floe.doctor.schema_registry import find_registry
from floe.schema_registry.exceptions import NotARegistry, RegistryRefused, RegistryUnreachable
from tests.support.kafka.doctor_case import TOPIC, case_of, closed_port, found, levels
from tests.support.registry.double import PAGE, Reply, as_json, serving

AVRO = "io.confluent.connect.avro.AvroConverter"
APICURIO = "io.apicurio.registry.utils.converter.AvroConverter"
MISSING = as_json({"error_code": 40401, "message": "Subject not found"}, 404)


def with_registry(url: str) -> Case:
    keys = {"value.converter": AVRO, "value.converter.schema.registry.url": url, "value.converter.schemas.enable": None}
    return case_of(**keys)


def test_registry_has_the_subject_of_the_topic() -> None:
    with serving(as_json([1])) as double:
        (one,) = found(find_registry, with_registry(double.url))
        assert double.paths == [f"/subjects/{TOPIC}-value/versions"]
    assert one.text == f"the registry at {double.url} answers and has 1 of 1 subject"


def test_subject_that_is_missing_is_warned_of() -> None:
    with serving(MISSING) as double:
        findings = found(find_registry, with_registry(double.url))
    assert levels(findings) == ["ok", "warning"] and f"no subject '{TOPIC}-value'" in findings[1].text


@pytest.mark.parametrize("reply", [Reply(404, b"<html>"), as_json([], 404), as_json({"error_code": 404}, 404)])
def test_server_that_is_no_registry_is_a_problem(reply: Reply) -> None:
    with serving(reply) as double:
        (one,) = found(find_registry, with_registry(double.url))
    assert one.is_problem and "answered 404: no schema registry" in one.text


def test_registry_that_refuses_or_is_away_raises_its_error() -> None:
    with serving(as_json({"message": "who are you"}, 401)) as double, pytest.raises(RegistryRefused):
        found(find_registry, with_registry(double.url))
    with pytest.raises(RegistryUnreachable, match="1 attempt"):
        found(find_registry, with_registry(f"http://127.0.0.1:{closed_port()}"))


def test_registry_gives_its_time() -> None:
    with serving(as_json([1], date="Tue, 02 Jan 2024 03:04:05 GMT")) as double:
        case = with_registry(double.url)
        found(find_registry, case)
    assert datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC) in [clock.there for clock in case.clocks]


def test_apicurio_is_asked_for_its_version() -> None:
    keys = {"value.converter": APICURIO, "value.converter.schemas.enable": None}
    with serving(as_json({"name": "Apicurio"})) as double:
        url = f"{double.url}/apis/registry/v2"
        findings = found(find_registry, case_of(**keys, **{"value.converter.apicurio.registry.url": url}))
        assert double.paths == ["/apis/registry/v2/system/info"]
    assert levels(findings) == ["ok"]
    with serving(PAGE) as double, pytest.raises(NotARegistry, match="text/html"):
        url = f"{double.url}/apis/registry/v2"
        found(find_registry, case_of(**keys, **{"value.converter.apicurio.registry.url": url}))


@pytest.mark.parametrize("reply", [PAGE, Reply(200, b""), as_json({"schema": "x"}), as_json("text")])
def test_page_in_the_place_of_versions_is_no_registry(reply: Reply) -> None:
    with serving(reply) as double, pytest.raises(NotARegistry):
        found(find_registry, with_registry(double.url))


def test_connector_without_registry_says_so() -> None:
    assert levels(found(find_registry, case_of())) == ["ok"]
