"""The diagnosis of a connector: all checks, one after the other."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress

from floe.config import Connector
from floe.config.connection_fields import ConnectionFields
from floe.config.secrets.mask import learn, learn_environment
from floe.doctor import brokers, catalog, host, java, schema_registry, spark, topics
from floe.doctor.check import About, Case, Check, Finding, Level, Part
from floe.kafka.settings import KafkaSettings
from floe.status.catalog_probe import PREFIX

_SERVERS = "check bootstrap.servers and the login in the Airflow connection, and that the brokers run"
_LOGIN, _BROKERS, _CATALOG = ("brokers", "login"), ("brokers", "login", "listeners"), ("catalog",)
TOTAL_SECONDS = 180.0
"""For all checks of a connector: those that are left then are not run."""

CHECKS: tuple[Check, ...] = (
    Check("brokers", brokers.find_addresses, _SERVERS, "kafka"),
    Check("login", brokers.find_login, _SERVERS, "kafka", ("brokers",)),
    Check("listeners", brokers.find_listeners, "check the brokers' advertised.listeners", "kafka", _LOGIN),
    Check("topics", topics.find_topics, "grant Describe on the topics", "kafka", _BROKERS),
    Check("reading", topics.find_reading, "grant Read on the topics", "kafka", _BROKERS),
    Check("group", topics.find_group, "grant Read on the group; stop other consumers of it", "kafka", _BROKERS),
    Check("control topic", topics.find_control_topic, "grant Read and Write on it", "kafka", _BROKERS),
    Check(
        "transactions",
        topics.find_transactions,
        "grant Write on the connector's TransactionalId prefix; check that the topic __transaction_state has enough replicas",
        "kafka",
        (*_BROKERS, "control topic"),
    ),
    Check("dead letters", topics.find_dead_letter_topic, "grant Write on their topic", "kafka", _BROKERS),
    Check("registry", schema_registry.find_registry, "check the registry's address, TLS and login", "registry"),
    Check(
        "catalog", catalog.find_catalog, "check iceberg.catalog.*, and that the catalog runs", "catalog", seconds=20.0
    ),
    Check(
        "commits",
        catalog.find_commits,
        "check the catalog's grants for floe's login, and that it answers soon",
        "catalog",
        _CATALOG,
        seconds=60.0,
        probe=f"a table {PREFIX}…",
    ),
    Check(
        "warehouse",
        catalog.find_warehouse,
        catalog.REMEDY,
        "catalog",
        _CATALOG,
        probe=f"a file {catalog.FILE_PREFIX}…, or a table {PREFIX}…,",
    ),
    Check("spark", spark.find_master, "check the Airflow connection to Spark", "spark"),
    Check("java", java.find_java, "install Java 17 or newer and pyspark"),
    Check("python", java.find_python, "install one minor version of Python on driver and workers"),
    Check("packages", host.find_packages, "pip install airflow-provider-floe, with its constraints.txt"),
    Check("clocks", brokers.find_clocks, brokers.REMEDY),
    Check("disks", host.find_room, "look at the folders of TMPDIR and SPARK_LOCAL_DIRS"),
)
"""In the order in which they are run; a check that another needs is before it."""


def diagnose(
    connector: Connector,
    settings: KafkaSettings | None,
    *,
    write: bool,
    spark: ConnectionFields | None = None,
    unknown: Mapping[Part, str] | None = None,
    unusable: Mapping[Part, str] | None = None,
) -> Iterator[Finding]:
    """Yield what is found out about a connector, its servers and this machine: at least one finding for each check.

    ``connector``: with values in the place of references. ``settings`` and ``spark`` are None where they are not known.
    ``unknown``: parts that could not be looked up, and why; they are not checked. ``unusable``: parts of which something is
    missing or wrong, and what. ``write``: with probes, which are removed: an aborted transaction on the control topic, a
    probe table, a file in the warehouse. No data of the connector changes.

    Nothing is raised, each check has a time limit, and no finding shows a secret. It imports clients of Kafka and of
    catalogs: import this module where it is used.
    """
    learn_environment(os.environ)
    for secrets in (connector.properties, settings.secrets if settings else {}):
        learn(secrets)
    case = Case(connector, settings, write, spark, unknown or {}, unusable or {})
    try:
        yield from run_checks(CHECKS, case)
    finally:
        with suppress(Exception):  # all that counts was found
            case.close()


def run_checks(checks: tuple[Check, ...], case: Case) -> Iterator[Finding]:
    """Yield the findings of checks; those whose need has failed are not run, nor those for which no time is left."""
    causes: dict[str, str] = {}
    lacking: dict[Part, str] = {}
    end = time.monotonic() + TOTAL_SECONDS
    for check in checks:
        about = About(check.name)
        need = next((causes[name] for name in check.needs if name in causes), None)
        if check.part in lacking:
            causes[check.name] = lacking[check.part]
            yield about.not_checked(f"see {lacking[check.part]!r}").cleaned()
        elif check.part is not None and (lack := _lack(case, check.part, about)) is not None:
            causes[check.name] = lacking[check.part] = check.name
            yield lack.cleaned()
        elif need is not None:
            causes[check.name] = need
            yield about.not_checked(f"{need!r} has a problem").cleaned()
        elif time.monotonic() > end:
            yield about.not_checked(
                f"the checks before took {TOTAL_SECONDS:g} s", "repair what did not answer, then run this again"
            ).cleaned()
        else:
            found = list[Finding]()
            for one in check.run(case):
                found.append(one)
                yield one
            if any(one.level is Level.PROBLEM for one in found):
                causes[check.name] = check.name
        case.failed.update(causes)


def _lack(case: Case, part: Part, about: About) -> Finding | None:
    """Return what is not known of a part, None where all is."""
    if part in case.unusable:
        remedy = "correct it, or run this where Airflow's workers run: they may have another environment"
        return about.problem(case.unusable[part], remedy)
    if part in case.unknown:
        return about.not_checked(case.unknown[part], "run this where Airflow's workers run, or name another connection")
    return None
