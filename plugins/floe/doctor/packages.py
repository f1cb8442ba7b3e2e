"""A check of the installed packages against the versions that floe was tested with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import Final

from floe.config import extensions
from floe.config.catalogs.registry import TYPES
from floe.config.converters.registry import CONVERTERS
from floe.config.transforms.predicates import PREDICATES
from floe.config.transforms.registry import TRANSFORMS
from floe.doctor.case import Case
from floe.doctor.finding import About, Finding

PINNED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "apache-airflow": "3.3.2",
        "apache-airflow-providers-apache-kafka": "2.1.0",
        "apache-airflow-providers-apache-spark": "6.3.4",
        "pyspark": "4.1.3",
        "pyspark-client": "4.1.3",
        "confluent-kafka": "2.16.1",
        "cryptography": "50.0.2",
        "fastavro": "1.13.1",
        "numpy": "2.4.6",
        "pyiceberg": "0.12.0",
        "filelock": "4.2.11",
        "tabulate": "0.10.0",
        "tenacity": "9.2.1",
        "uuid6": "2025.0.1",
    }
)
"""The lines of ``requirements.txt``, which is not installed with the modules; a test compares them."""

OPTIONAL: Final[Mapping[str, str]] = MappingProxyType(
    {
        "boto3": "1.44.8",
        "thrift": "0.25.0",
        "aws-msk-iam-sasl-signer-python": "1.0.2",
        "psycopg": "3.3.9",
        "protobuf": "7.36.2",
        "googleapis-common-protos": "1.76.0",
        "grpcio-tools": "1.85.1",
        "ptars": "0.0.25",
    }
)
"""Those of the other files of requirements: only what is installed is compared."""

_AIRFLOW = "apache-airflow"


def find_packages(_: Case, about: About) -> Iterator[Finding]:
    """Compare the versions in this Python's environment."""
    installed = {name: _installed(name) for name in (*PINNED, *OPTIONAL)}
    missing = [name for name in PINNED if installed[name] is None]
    remedy = "install requirements.txt with constraints.txt of this version of floe"
    if missing:
        of_airflow = [name for name in missing if name.startswith(_AIRFLOW)]
        others = [name for name in missing if name not in of_airflow]
        if of_airflow:
            yield about.not_checked(f"this Python has no {', '.join(of_airflow)}: run it where Airflow's workers run")
        if others:
            yield about.problem(f"not installed: {', '.join(others)}", remedy)
    if (spark := installed["pyspark"]) and (client := installed["pyspark-client"]) and spark != client:
        yield about.problem(
            f"pyspark {spark} and pyspark-client {client} own the same files", f"{remedy}: both need one version"
        )
    other = [
        f"{name} {installed[name]} (tested with {wanted})"
        for name, wanted in ({**PINNED, **OPTIONAL}).items()
        if installed[name] not in (None, wanted)
    ]
    if other:
        yield about.warning(f"other versions are installed: {', '.join(other)}", remedy)
    elif not missing:
        yield about.ok(f"{len(PINNED)} packages are of the versions that floe was tested with")
    for registry in (CONVERTERS, TRANSFORMS, PREDICATES, TYPES):
        for declared in registry.shadowed:
            yield about.warning(f"{declared} is never used: floe has that name itself", "give it another name")
    for name, why in extensions.absent().items():
        yield about.problem(
            f"{extensions.VARIABLE} lists {name!r}, which {why}",
            "install it where Airflow's scheduler, DAG processor, API server and workers run, or take it off the list",
        )


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
