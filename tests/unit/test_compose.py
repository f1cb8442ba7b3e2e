"""docker-compose.yaml, checked without a Docker engine.

The schema is the Compose specification's own (compose-spec.json), in the copy that the package check-jsonschema ships.
A schema knows nothing of what belongs together, so the rest is checked here: names that refer to each other, files that
must be there, pins, secrets, and what is shared with the local stack of ``stack/``. That images exist under their tags,
that they build and that the services start is not checked: nothing of this runs containers.
"""

from __future__ import annotations

import base64
import copy
import graphlib
import importlib.util
import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest
import yaml

from floe.config.__main__ import main as floe_config
from floe.config.secrets.detection import is_secret
from stack.airflow import Airflow
from stack.broker import PACKAGES, SINGLE_NODE
from tests.support.repository import ROOT

DEPLOY = ROOT / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
JOBS = {name for name, service in SERVICES.items() if service.get("restart") == "no"}
DOCKERFILES = sorted(DEPLOY.glob("*/Dockerfile"))
CONNECTOR = "pizzas-on-ice.json"

_VARIABLE = re.compile(r"(?<!\$)\$(?:\{(?P<name>\w+)(?P<kind>:[-?])?(?P<rest>[^}]*)\}|(?P<bare>\w+))")
_EXACT_TAG = re.compile(r"[a-z0-9./-]+:(?=.*\d+\.\d+|RELEASE\.\d)[\w.-]+")


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


def settings(path: Path, comment: str = "#") -> dict[str, str]:
    """Read a file of ``name=value`` lines."""
    lines = [line.strip() for line in path.read_text().splitlines()]
    return dict(line.split("=", 1) for line in lines if line and not line.startswith(comment))


def pins(path: Path) -> dict[str, str]:
    """Read exact pins, without extras."""
    found = re.findall(r"^([\w-]+)(?:\[[^\]]*\])?==(\S+)", path.read_text(), re.MULTILINE)
    return dict(found)


def module(path: Path) -> ModuleType:
    """Load a script by its path."""
    spec = importlib.util.spec_from_file_location(f"deploy_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def base_images(dockerfile: Path) -> list[str]:
    return re.findall(r"^FROM (\S+)", dockerfile.read_text(), re.MULTILINE)


def airflow_services() -> dict[str, dict[str, Any]]:
    return {name: service for name, service in SERVICES.items() if name.startswith("airflow-")}


# -- the specification ---------------------------------------------------------------------------------------------


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


# -- what refers to each other -------------------------------------------------------------------------------------


def test_all_parts_of_a_deployment_are_there() -> None:
    airflow = {"airflow-init", "airflow-api-server", "airflow-scheduler", "airflow-dag-processor", "airflow-triggerer"}
    spark = {"spark-master", "spark-worker", "spark-connect"}
    assert set(SERVICES) == {"kafka", "postgres", "store", "store-init", "catalog"} | airflow | spark
    assert {"airflow-init", "store-init"} == JOBS


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


# -- images --------------------------------------------------------------------------------------------------------


def test_every_image_is_pinned_to_an_exact_tag() -> None:
    images = [service["image"] for service in SERVICES.values()]
    images += [image for file in DOCKERFILES for image in base_images(file)]
    assert [image for image in images if not _EXACT_TAG.fullmatch(image) or "latest" in image] == []


def test_images_built_here_carry_the_version_of_floe() -> None:
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None
    for name, service in SERVICES.items():
        built = service["image"].startswith("floe-")
        assert built == ("build" in service), name
        assert not built or service["image"].endswith(f":{version[1]}")
        if built:
            assert (ROOT / service["build"]["context"] / service["build"]["dockerfile"]).is_file()


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.parent.name)
def test_dockerfile_copies_existing_files_not_ignored(dockerfile: Path) -> None:
    ignore = dockerfile.with_name("Dockerfile.dockerignore").read_text().split()
    assert ignore[0] == "*"
    taken = [line[1:] for line in ignore if line.startswith("!")]
    for line in re.findall(r"^COPY (?!--from)(.+)", dockerfile.read_text(), re.MULTILINE):
        for source in [word for word in line.split() if not word.startswith("--")][:-1]:
            assert (ROOT / source).exists(), source
            assert any(source == entry or source.startswith(f"{entry}/") for entry in taken), source


def test_versions_are_those_of_the_requirements() -> None:
    required = pins(ROOT / "requirements.txt")
    (airflow,) = base_images(DEPLOY / "airflow" / "Dockerfile")
    assert airflow.split(":")[1].startswith(f"slim-{required['apache-airflow']}-python")
    assert required["pyspark"] == required["pyspark-client"]
    (broker,) = [package.rsplit(":", 1)[1] for package in PACKAGES if ":kafka_" in package]
    assert SERVICES["kafka"]["image"] == f"apache/kafka:{broker}"


@pytest.mark.parametrize("name", ["airflow", "spark"])
def test_image_installs_requirements_under_constraints(name: str) -> None:
    text = (DEPLOY / name / "Dockerfile").read_text()
    assert "COPY requirements.txt constraints.txt /tmp/floe/" in text
    assert "-c /tmp/floe/constraints.txt" in text
    assert not re.search(r"pip install[^&]*==", text), "a pin stands in the requirements only"


def test_airflow_and_spark_have_the_same_python() -> None:
    (airflow,) = base_images(DEPLOY / "airflow" / "Dockerfile")
    (spark,) = base_images(DEPLOY / "spark" / "Dockerfile")
    assert airflow.rsplit("-python", 1)[1] == ".".join(spark.split(":")[1].split(".")[:2])


# -- variables and secrets -----------------------------------------------------------------------------------------


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


# -- what is shared with the local stack ---------------------------------------------------------------------------


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


def test_the_connector_is_the_local_one_on_another_catalog(capsys: pytest.CaptureFixture[str]) -> None:
    local = json.loads((ROOT / "dags" / "connectors" / CONNECTOR).read_text())
    here = json.loads((DEPLOY / "connectors" / CONNECTOR).read_text())
    assert here["name"] == local["name"]
    assert list(here["config"]) == list(local["config"])
    other = {key for key in here["config"] if here["config"][key] != local["config"][key]}
    assert other == {"iceberg.catalog", "iceberg.catalog.type"}
    assert floe_config(["check", str(DEPLOY / "connectors")]) == 0
    assert "0 warnings" in capsys.readouterr().out


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
