"""Checks of the brokers: do the addresses answer, is the client let in, can the addresses that they announce be reached?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from floe.doctor.addresses import named, servers_of, unreachable_ones
from floe.doctor.case import Case
from floe.doctor.finding import About, Finding
from floe.kafka.access import login_of
from floe.kafka.admin import Cluster

PORT = 9092
MAX_BROKERS = 20
_CONNECTION = ("bootstrap.", "metadata.broker.list", "security.", "sasl.", "ssl.", "client.dns.")


class Side(NamedTuple):
    """One of the connector's clients. ``whose``: for messages, empty where one client is for all."""

    whose: str
    conf: Mapping[str, Any]
    cluster: Cluster


def sides(case: Case) -> list[Side]:
    """Return the connector's clients; one where both connect in the same way."""
    source, control = case.kafka.source, case.kafka.control
    if _connection(source) == _connection(control):
        return [Side("", source, case.source)]
    return [Side(" of the topics", source, case.source), Side(" of the control topic", control, case.control)]


def find_addresses(case: Case, about: About) -> Iterator[Finding]:
    """Connect to each address in ``bootstrap.servers``."""
    for side in sides(case):
        servers = list(servers_of(str(side.conf.get("bootstrap.servers", "")), PORT))[:MAX_BROKERS]
        failed = unreachable_ones(servers)
        answering = [name for name in (named(*server) for server in servers) if name not in failed]
        remedy = f"correct bootstrap.servers in {case.kafka.origin}, or start the broker and open its port"
        if answering:
            yield about.ok(f"{', '.join(answering)}{side.whose} can be reached")
        for name, why in failed.items():
            text = f"{name}{side.whose} cannot be reached: {why}"
            yield about.warning(text, f"{remedy}; the others answer") if answering else about.problem(text, remedy)


def find_login(case: Case, about: About) -> Iterator[Finding]:
    """Ask for the cluster's id, which needs TLS and login."""
    for side in sides(case):
        cluster_id = side.cluster.cluster_id()
        yield about.ok(f"cluster {cluster_id!r}{side.whose} lets {login_of(side.conf)} in")


def find_listeners(case: Case, about: About) -> Iterator[Finding]:
    """Connect to the addresses that the brokers announce: clients use those after the first request."""
    for side in sides(case):
        servers = [server for _, server in sorted(side.cluster.brokers().items())]
        failed = unreachable_ones(servers[:MAX_BROKERS])
        for name, why in failed.items():
            yield about.problem(
                f"a broker{side.whose} announces {name}, which cannot be reached from here: {why}",
                "set its advertised.listeners to an address that Airflow's and Spark's workers reach, or open that port",
            )
        if not failed:
            shown = ", ".join(named(*server) for server in servers[:MAX_BROKERS])
            yield about.ok(f"the announced addresses{side.whose} can be reached: {shown}")


def _connection(conf: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in conf.items() if name.startswith(_CONNECTION)}
