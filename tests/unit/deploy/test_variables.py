"""Variables and secrets of docker-compose.yaml, and what it shares with the local stack."""

from __future__ import annotations

import base64
import importlib.util
import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import pytest

from floe.config.__main__ import main as floe_config
from floe.config.secrets.detection import is_secret
from floe.config.stored.operator_lists import OperatorLists
from floe.config.worker_file import worker_file
from stack.services.airflow import Airflow
from stack.services.broker import SINGLE_NODE
from stack.services.schema_registry import CONFLUENT_API
from tests.support.compose import COMPOSE, DEPLOY, SERVICES, settings
from tests.support.repository import ROOT

CONNECTOR = "pizzas-on-ice.json"
CONNECTORS = [*(ROOT / "dags" / "connectors").glob("*.json"), *(ROOT / "dags" / "connectors-avro").glob("*.json")]
PROVIDERS = "FLOE_CONFIG_PROVIDERS"


_VARIABLE = re.compile(r"(?<!\$)\$(?:\{(?P<name>\w+)(?P<kind>:[-?])?(?P<rest>[^}]*)\}|(?P<bare>\w+))")


def texts(node: Any) -> Iterator[str]:
    """Walk all texts below a node of the file."""
    if isinstance(node, dict):
        for value in node.values():
            yield from texts(value)
    elif isinstance(node, list):
        for value in node:
            yield from texts(value)
    elif isinstance(node, str):
        yield node


def variables() -> dict[str, set[tuple[str, str]]]:
    """Collect the variables of the file, each with how it is used: (":?", message) or (":-", default)."""
    found: dict[str, set[tuple[str, str]]] = {}
    for text in texts(COMPOSE):
        for match in _VARIABLE.finditer(text):
            found.setdefault(match["name"] or match["bare"], set()).add((match["kind"] or "", match["rest"] or ""))
    return found


def module(path: Path) -> ModuleType:
    """Load a script by its path."""
    spec = importlib.util.spec_from_file_location(f"deploy_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def airflow_services() -> dict[str, dict[str, Any]]:
    return {name: service for name, service in SERVICES.items() if name.startswith("airflow-")}


def test_every_variable_is_in_the_example_and_nothing_else_is() -> None:
    assert set(variables()) == set(settings(DEPLOY / ".env.example"))


def test_variable_is_required_with_message_or_has_default() -> None:
    example = settings(DEPLOY / ".env.example")
    for name, uses in variables().items():
        ((kind, rest),) = uses  # used in one way everywhere
        if example[name]:
            assert (kind, rest) == (":-", example[name]), name
        else:
            assert kind == ":?", name
            assert ".env.example" in rest, name


def test_no_secret_is_written_into_the_files() -> None:
    for name, service in SERVICES.items():
        for key, value in (service.get("environment") or {}).items():
            if is_secret(key, str(value)) and not key.endswith("_FILE"):
                assert re.search(r"\$\{\w+:\?", str(value)), f"{name}: {key}"
    literal = {key: value for key, value in settings(DEPLOY / "airflow.env").items() if is_secret(key, value)}
    assert literal == {}
    assert [key for key, value in settings(DEPLOY / ".env.example").items() if value and is_secret(key, value)] == []


def test_secrets_go_only_to_the_services_that_need_them() -> None:
    holders: dict[str, set[str]] = {}
    for name, service in SERVICES.items():
        for text in texts(service):
            for match in _VARIABLE.finditer(text):
                holders.setdefault(match["name"], set()).add(name)
    assert holders["POSTGRES_PASSWORD"] == {"postgres"}
    assert holders["AIRFLOW_ADMIN_PASSWORD"] == {"airflow-init"}
    assert holders["CATALOG_DB_PASSWORD"] == {"postgres", "catalog"}
    assert holders["AIRFLOW_DB_PASSWORD"] == {"postgres", *airflow_services()}
    required = {name for name, uses in variables().items() if any(kind == ":?" for kind, _ in uses)}
    spark = {name for name, services in holders.items() if any(s.startswith("spark-") for s in services)}
    assert spark & required == set(), "a session brings what it needs"


def test_make_env_fills_empty_values_and_leaves_a_file_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from cryptography.fernet import Fernet

    make_env, target = module(DEPLOY / "make_env.py"), tmp_path / ".env"
    assert make_env.main([str(target)]) == 0
    written, example = settings(target), settings(DEPLOY / ".env.example")
    assert list(written) == list(example)
    assert {name: value for name, value in example.items() if value}.items() <= written.items()
    fresh = {written[name] for name, value in example.items() if not value}
    assert len(fresh) == sum(not value for value in example.values())
    assert all(re.fullmatch(r"[\w=-]{16,}", value) for value in fresh)
    Fernet(written["AIRFLOW_FERNET_KEY"].encode())
    assert len(base64.urlsafe_b64decode(written["KAFKA_CLUSTER_ID"] + "==")) == 16
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    before = target.read_text()
    assert make_env.main([str(target)]) == 1
    assert target.read_text() == before
    assert "left alone" in capsys.readouterr().err


def test_init_writes_the_passwords_for_their_owner_only(tmp_path: Path) -> None:
    init, file = module(DEPLOY / "airflow" / "init.py"), tmp_path / "passwords.json"
    for password in ("first", "second"):
        init.write_passwords(file, settings(DEPLOY / "airflow.env")[init.USERS], password)
        assert json.loads(file.read_text()) == {"admin": password}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    environment = SERVICES["airflow-init"]["environment"]
    assert {init.PASSWORDS, init.PASSWORD} <= set(environment)


def test_airflow_is_set_up_as_in_the_local_stack(tmp_path: Path) -> None:
    shared = settings(DEPLOY / "airflow.env")
    local = Airflow(tmp_path, 8080, ROOT / "dags", ROOT / "plugins").environment()
    assert {name: local.get(name) for name in shared} == shared
    for name, service in airflow_services().items():
        assert service["env_file"] == ["deploy/airflow.env"], name
        assert set(service["environment"]) & set(shared) == set(), f"{name} says again what the file says"


def test_airflow_setting_of_local_stack_is_shared_or_own(tmp_path: Path) -> None:
    local = Airflow(tmp_path, 8080, ROOT / "dags", ROOT / "plugins").environment()
    named = {name for name in local if name.startswith("AIRFLOW__")}
    here = set(settings(DEPLOY / "airflow.env")) | set(SERVICES["airflow-api-server"]["environment"])
    assert named - here == {"AIRFLOW__API__HOST", "AIRFLOW__API__PORT"}, "the image's defaults serve for these"


def test_all_airflow_services_have_one_environment() -> None:
    environments = [dict(service["environment"]) for service in airflow_services().values()]
    for environment in environments:
        environment.pop("AIRFLOW_ADMIN_PASSWORD", None)
    assert all(environment == environments[0] for environment in environments)


def test_the_broker_is_set_up_as_in_the_local_stack() -> None:
    properties = settings(DEPLOY / "kafka" / "server.properties")
    assert {name: properties.get(name) for name in SINGLE_NODE} == SINGLE_NODE
    assert properties["advertised.listeners"] == "PLAINTEXT://kafka:9092"


@pytest.mark.parametrize("local_file", CONNECTORS, ids=lambda path: path.stem)
def test_connector_is_the_local_one_on_another_catalog(local_file: Path) -> None:
    local = json.loads(local_file.read_text())
    here = json.loads((DEPLOY / "connectors" / local_file.name).read_text())
    assert here["name"] == local["name"]
    assert list(here["config"]) == list(local["config"])
    other = {key for key in here["config"] if here["config"][key] != local["config"][key]}
    assert other == {"iceberg.catalog", "iceberg.catalog.type"}


def test_connectors_are_right(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(PROVIDERS, settings(DEPLOY / "airflow.env")[PROVIDERS])
    assert floe_config(["check", str(DEPLOY / "connectors")]) == 0
    assert capsys.readouterr().out.count("0 warnings") == len(CONNECTORS)
    assert {path.name for path in (DEPLOY / "connectors").iterdir()} == {path.name for path in CONNECTORS}


def test_registry_address_is_the_services_and_connectors_get_it() -> None:
    address = SERVICES["airflow-scheduler"]["environment"]["SCHEMA_REGISTRY_URL"]
    assert address == f"http://schema-registry:8080{CONFLUENT_API}"
    avro = json.loads((DEPLOY / "connectors" / "pizzas-in-avro.json").read_text())["config"]
    assert avro["value.converter.schema.registry.url"] == "${env:SCHEMA_REGISTRY_URL}"
    assert settings(DEPLOY / "airflow.env")[PROVIDERS] == "env=SCHEMA_REGISTRY_URL"


def test_worker_file_is_mounted_and_has_the_demos_converter() -> None:
    airflow = SERVICES["airflow-scheduler"]
    inside = airflow["environment"]["FLOE_WORKER_CONFIG"]
    assert f"./deploy/connect-worker.properties:{inside}:ro" in airflow["volumes"]
    worker = worker_file({"FLOE_WORKER_CONFIG": str(DEPLOY / "connect-worker.properties")})
    plain = json.loads((DEPLOY / "connectors" / "pizzas-on-ice.json").read_text())["config"]
    assert {key: str(plain[key]).lower() for key in plain if key.startswith("value.converter")} == {
        key: value.lower() for key, value in worker.keys.items() if key.startswith("value.converter")
    }


@pytest.mark.parametrize("name", sorted(set(airflow_services()) - {"airflow-init"}))
def test_airflow_service_has_the_files_that_its_variables_name(name: str) -> None:
    """A service's own list of volumes takes the place of the shared one."""
    service = SERVICES[name]
    mounted = {mount.split(":")[1] for mount in service["volumes"]}
    named = {key: value for key, value in service["environment"].items() if str(value).startswith("/opt/airflow/")}
    in_image = {"AIRFLOW__CORE__DAGS_FOLDER", "AIRFLOW__CORE__PLUGINS_FOLDER"}
    of_login = {"AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"} if name == "airflow-api-server" else set()
    expected = {key for key in named if key.startswith("FLOE_")} | of_login
    assert expected >= {"FLOE_CACHE_DIR", "FLOE_CONNECTORS_DIR", "FLOE_WORKER_CONFIG"} and not expected & in_image
    assert [key for key in expected if not {named[key], str(Path(named[key]).parent)} & mounted] == []


def test_variables_of_floe_are_those_that_it_reads() -> None:
    read = set(re.findall(r"FLOE_[A-Z_]+", "".join(path.read_text() for path in (ROOT / "plugins").rglob("*.py"))))
    files = [
        ROOT / "docker-compose.yaml",
        *(path for path in DEPLOY.rglob("*") if path.is_file() and path.suffix != ".pyc"),
    ]
    files += [ROOT / "docs" / "how-to" / "deploy.md"]
    named = {name: path.name for path in files for name in re.findall(r"FLOE_[A-Z_]+", path.read_text())}
    assert {name: file for name, file in named.items() if name not in read} == {}


def test_connectors_by_rest_may_name_the_services_of_the_example() -> None:
    lines = re.findall(r"^# (FLOE_REST_\w+=\S+)$", (DEPLOY / "airflow.env").read_text(), re.MULTILINE)
    given = dict(line.split("=", 1) for line in lines)
    assert OperatorLists.of(given).is_enabled
    environment = SERVICES["airflow-api-server"]["environment"]
    addresses = [value for key, value in environment.items() if key.endswith(("__URI", "__ENDPOINT", "REGISTRY_URL"))]
    assert set(given["FLOE_REST_HOSTS"].split(",")) == {urlsplit(address).netloc for address in addresses}
    connections = {f"AIRFLOW_CONN_{name.upper()}" for name in given["FLOE_REST_CONNECTIONS"].split(",")}
    assert connections == {name for name in environment if name.startswith("AIRFLOW_CONN_")}


def test_the_connectors_catalog_is_found_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyiceberg.utils.config import Config

    environment = SERVICES["airflow-scheduler"]["environment"]
    for key, value in environment.items():
        if key.startswith("PYICEBERG_"):
            monkeypatch.setenv(key, str(value))
    config = json.loads((DEPLOY / "connectors" / CONNECTOR).read_text())["config"]
    found = Config().get_catalog_config(config["iceberg.catalog"])
    assert found is not None
    assert set(found) == {"uri", "s3.endpoint", "s3.region", "s3.access-key-id", "s3.secret-access-key"}
    assert found["uri"] == "http://catalog:8181"
    assert found["s3.endpoint"] == SERVICES["catalog"]["environment"]["CATALOG_S3_ENDPOINT"]


def test_the_connections_lead_to_services() -> None:
    environment = SERVICES["airflow-scheduler"]["environment"]
    kafka = json.loads(environment["AIRFLOW_CONN_KAFKA_DEFAULT"])
    properties = settings(DEPLOY / "kafka" / "server.properties")
    assert kafka["conn_type"] == "kafka"
    assert properties["advertised.listeners"] == f"PLAINTEXT://{kafka['extra']['bootstrap.servers']}"
    spark = json.loads(environment["AIRFLOW_CONN_SPARK_DEFAULT"])
    defaults = (DEPLOY / "spark" / "spark-defaults.conf").read_text()
    assert spark["conn_type"] == "spark_connect"
    assert spark["host"] in SERVICES
    assert re.search(rf"^spark.connect.grpc.binding.port\s+{spark['port']}$", defaults, re.MULTILINE)


def test_sparks_workers_are_forked_from_the_warm_daemon() -> None:
    defaults = (DEPLOY / "spark" / "spark-defaults.conf").read_text()
    (name,) = re.findall(r"^spark.python.daemon.module\s+(\S+)$", defaults, re.MULTILINE)
    dockerfile = (DEPLOY / "spark" / "Dockerfile").read_text()
    assert f"COPY spark_jobs/floe_job/runtime/worker_daemon.py /opt/floe/{name}.py" in dockerfile
    assert "PYTHONPATH=/opt/floe" in dockerfile


def test_a_host_named_in_an_address_is_a_service() -> None:
    for text in texts(SERVICES):
        for host in re.findall(r"(?://|@)(?!\$)([a-z-]+):\d", text):
            assert host in SERVICES or host == "localhost", text
