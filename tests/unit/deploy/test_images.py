"""Images of docker-compose.yaml: pinned, and built from what is in the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import floe
from deploy.dependencies import dependencies
from stack.services.broker import PACKAGES
from stack.services.schema_registry import VERSION as REGISTRY_VERSION
from tests.support.compose import DEPLOY, SERVICES
from tests.support.repository import ROOT

DOCKERFILES = sorted(DEPLOY.glob("*/Dockerfile"))


_EXACT_TAG = re.compile(r"[a-z0-9./-]+:(?=.*\d+\.\d+|RELEASE\.\d)[\w.-]+")


def pins(path: Path) -> dict[str, str]:
    """Read exact pins, without extras."""
    found = re.findall(r"^([\w-]+)(?:\[[^\]]*\])?==(\S+)", path.read_text(), re.MULTILINE)
    return dict(found)


def base_images(dockerfile: Path) -> list[str]:
    return re.findall(r"^FROM (\S+)", dockerfile.read_text(), re.MULTILINE)


def test_every_image_is_pinned_to_an_exact_tag() -> None:
    images = [service["image"] for service in SERVICES.values()]
    images += [image for file in DOCKERFILES for image in base_images(file)]
    assert [image for image in images if not _EXACT_TAG.fullmatch(image) or "latest" in image] == []


def test_images_built_here_carry_the_version_of_floe() -> None:
    for name, service in SERVICES.items():
        built = service["image"].startswith("floe-")
        assert built == ("build" in service), name
        assert not built or service["image"].endswith(f":{floe.__version__}")
        if built:
            assert (ROOT / service["build"]["context"] / service["build"]["dockerfile"]).is_file()


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.parent.name)
def test_dockerfile_copies_existing_files_not_ignored(dockerfile: Path) -> None:
    ignore = dockerfile.with_name("Dockerfile.dockerignore").read_text().split()
    assert ignore[0] == "*"
    taken = [line[1:] for line in ignore if line.startswith("!")]
    for line in re.findall(r"^COPY (?!--from)(.+)", dockerfile.read_text(), re.MULTILINE):
        for source in [word for word in line.split() if not word.startswith("--")][:-1]:
            assert list(ROOT.glob(source)), source
            assert any(source == entry or source.startswith(f"{entry}/") for entry in taken), source


def test_versions_are_those_of_the_requirements() -> None:
    required = pins(ROOT / "constraints.txt")
    (airflow,) = base_images(DEPLOY / "airflow" / "Dockerfile")
    assert airflow.split(":")[1].startswith(f"slim-{required['apache-airflow']}-python")
    assert required["pyspark"] == required["pyspark-client"]
    (broker,) = [package.rsplit(":", 1)[1] for package in PACKAGES if ":kafka_" in package]
    assert SERVICES["kafka"]["image"] == f"apache/kafka:{broker}"
    assert SERVICES["schema-registry"]["image"] == f"apicurio/apicurio-registry-kafkasql:{REGISTRY_VERSION}"


@pytest.mark.parametrize("name", ["airflow", "spark"])
def test_image_installs_what_floe_requires_under_constraints(name: str) -> None:
    text = (DEPLOY / name / "Dockerfile").read_text()
    assert "dependencies.py /tmp/floe/pyproject.toml" in text
    assert "-c /tmp/floe/constraints.txt" in text
    assert not re.search(r"pip install[^&]*==", text), "a pin is in the constraints only"


def test_dependencies_of_images_are_all_and_without_some() -> None:
    every = dependencies(ROOT / "pyproject.toml", ())
    assert {"boto3>=1.44.8,<2", "pyiceberg[pyarrow,pyiceberg-core,sql-sqlite]==0.12.0"} <= set(every)
    left = dependencies(ROOT / "pyproject.toml", ("apache-airflow", "pyspark-client"))
    gone = [one for one in every if one not in left]
    assert [re.split("[<>=]", one)[0] for one in gone] == [
        "apache-airflow",
        "apache-airflow-providers-apache-kafka",
        "apache-airflow-providers-apache-spark",
        "pyspark-client",
    ]


def test_every_requirement_has_its_pin_within_its_range() -> None:
    pinned = {canonicalize_name(name): version for name, version in pins(ROOT / "constraints.txt").items()}
    for line in dependencies(ROOT / "pyproject.toml", ()):
        one = Requirement(line)
        assert one.specifier.contains(pinned[canonicalize_name(one.name)]), line


def test_airflow_and_spark_have_the_same_python() -> None:
    (airflow,) = base_images(DEPLOY / "airflow" / "Dockerfile")
    (spark,) = base_images(DEPLOY / "spark" / "Dockerfile")
    assert airflow.rsplit("-python", 1)[1] == ".".join(spark.split(":")[1].split(".")[:2])
