"""docker-compose.yaml, checked without a Docker engine.

The schema is the Compose specification's own (compose-spec.json), in the copy that the package check-jsonschema ships.
A schema knows nothing of what belongs together, so the rest is checked here: names that refer to each other, files that
must be there, pins, secrets, and what is shared with the local stack of ``stack/``. That images exist under their tags,
that they build and that the services start is not checked: nothing of this runs containers.
"""

from __future__ import annotations

import copy
import graphlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support.compose import COMPOSE, DEPLOY, SERVICES, settings
from tests.support.repository import ROOT

JOBS = {name for name, service in SERVICES.items() if service.get("restart") == "no"}


@pytest.fixture(scope="module")
def specification() -> jsonschema.protocols.Validator:
    package = importlib.util.find_spec("check_jsonschema")
    assert package is not None, "check-jsonschema carries the schema: install requirements-dev.txt"
    folder = Path(next(iter(package.submodule_search_locations or ())))
    schema = json.loads((folder / "builtin_schemas" / "vendor" / "compose-spec.json").read_text())
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def test_the_file_fits_the_compose_specification(specification: jsonschema.protocols.Validator) -> None:
    assert [f"{error.json_path}: {error.message}" for error in specification.iter_errors(COMPOSE)] == []


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("restarts", "always"),
        ("ports", {"8080": 8080}),
        ("healthcheck", {"test": ["CMD", "true"], "intervall": "5s"}),
        ("depends_on", {"kafka": {"condition": "healthy"}}),
        ("build", {"dockerfiles": "Dockerfile"}),
    ],
)
def test_the_schema_sees_a_mistake(specification: jsonschema.protocols.Validator, place: str, value: Any) -> None:
    broken = copy.deepcopy(COMPOSE)
    broken["services"]["spark-worker"][place] = value
    assert not specification.is_valid(broken)


def test_all_parts_of_a_deployment_are_there() -> None:
    airflow = {"airflow-init", "airflow-api-server", "airflow-scheduler", "airflow-dag-processor", "airflow-triggerer"}
    spark = {"spark-master", "spark-worker", "spark-connect"}
    lasting = {"kafka", "postgres", "store", "catalog", "schema-registry"}
    assert set(SERVICES) == {"store-init"} | lasting | airflow | spark
    assert {"airflow-init", "store-init"} == JOBS


def test_only_the_registry_needs_a_profile() -> None:
    profiles = {name: service["profiles"] for name, service in SERVICES.items() if "profiles" in service}
    assert profiles == {"schema-registry": ["registry"]}
    assert [name for name, one in SERVICES.items() if "schema-registry" in one.get("depends_on", ())] == []


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_waits_for_what_can_be_waited_for(name: str) -> None:
    for target, how in SERVICES[name].get("depends_on", {}).items():
        assert target in SERVICES
        expected = "service_completed_successfully" if target in JOBS else "service_healthy"
        assert how["condition"] == expected, f"{name} waits for {target}"


def test_no_two_services_wait_for_each_other() -> None:
    graph = {name: set(service.get("depends_on", ())) for name, service in SERVICES.items()}
    assert list(graphlib.TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("name", sorted(set(SERVICES) - JOBS))
def test_lasting_service_is_restarted_and_has_a_health_check(name: str) -> None:
    service = SERVICES[name]
    assert service["restart"] == "unless-stopped"
    assert service["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
    assert {"interval", "timeout", "retries", "start_period"} <= set(service["healthcheck"])


def test_all_services_are_on_the_one_network() -> None:
    assert list(COMPOSE["networks"]) == ["floe"]
    assert {name for name, service in SERVICES.items() if service.get("networks") != ["floe"]} == set()


def test_named_volumes_are_declared_and_mounted_files_exist() -> None:
    sources = {mount.split(":")[0] for service in SERVICES.values() for mount in service.get("volumes", ())}
    files = {source for source in sources if source.startswith((".", "/"))}
    assert sources - files == set(COMPOSE["volumes"])
    assert [file for file in files if file.startswith("/") or not (ROOT / file).exists()] == []


def test_files_of_the_repository_are_mounted_read_only() -> None:
    mounts = [mount for service in SERVICES.values() for mount in service.get("volumes", ())]
    assert [mount for mount in mounts if mount.startswith(".") and not mount.endswith(":ro")] == []


def test_data_of_kafka_postgres_and_store_is_in_named_volumes() -> None:
    mounts = {
        name: dict(mount.split(":")[1::-1] for mount in SERVICES[name]["volumes"])
        for name in SERVICES
        if SERVICES[name].get("volumes")
    }
    log_dirs = settings(DEPLOY / "kafka" / "server.properties")["log.dirs"]
    assert mounts["kafka"][log_dirs] == "kafka-data"
    assert mounts["postgres"]["/var/lib/postgresql/data"] == "postgres-data"
    assert mounts["store"][SERVICES["store"]["command"][-1]] == "store-data"


def test_only_the_ui_is_published_and_to_this_host_only() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"airflow-api-server": ["127.0.0.1:${AIRFLOW_PORT:-8080}:8080"]}
