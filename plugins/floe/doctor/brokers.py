"""Checks of the brokers: do the addresses answer, is the client let in, can the addresses that they announce be reached?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from floe.doctor.check import About, Case, Clock, Finding
from floe.doctor.listener import MAX_SECONDS, Spoken, ask_all, listener_at, named, servers_of, unreachable
from floe.kafka.access import login_of
from floe.kafka.admin import Cluster
from floe.kafka.exceptions import KafkaError
from floe.model.offsets import TopicPartition

PORT = 9092
MAX_BROKERS = 20
_CONNECTION = ("bootstrap.", "metadata.broker.list", "security.", "sasl.", "ssl.", "client.dns.")
_VERIFICATION, _IDENTIFICATION = "enable.ssl.certificate.verification", "ssl.endpoint.identification.algorithm"


class Side(NamedTuple):
    """One of the connector's clients. ``whose``: for messages, empty where one client is for all."""

    whose: str
    conf: Mapping[str, Any]
    cluster: Cluster
    origin: str

    def faults(self, servers: Sequence[tuple[str, int]]) -> dict[str, Fault | None]:
        """Ask all servers at once; return what is wrong with each, None for those that are as they have to be."""
        answers = ask_all(servers, partial(fault_at, self.conf, self.origin))
        late = Fault(f"has not answered within {MAX_SECONDS:g} s", _correct("bootstrap.servers", self.origin))
        return {name: late if answer is None else answer.fault for name, answer in answers.items()}


class Fault(NamedTuple):
    """What is wrong with a server, and what to do."""

    text: str
    remedy: str


class BrokerAnswer(NamedTuple):
    """What was found out about a server."""

    fault: Fault | None


def sides(case: Case) -> list[Side]:
    """Return the connector's clients; one where both connect in the same way."""
    source, control = case.kafka.source, case.kafka.control
    if _connection(source) == _connection(control):
        return [Side("", source, case.source, case.kafka.origin)]
    return [
        Side(" of the topics", source, case.source, case.kafka.origin),
        Side(" of the control topic", control, case.control, case.kafka.origin),
    ]


def fault_at(conf: Mapping[str, Any], origin: str, host: str, port: int) -> BrokerAnswer:
    """Connect as a client with these settings does, up to the login; return what is wrong. ``origin``: of the settings."""
    if (why := unreachable(host, port)) is not None:
        return BrokerAnswer(Fault(f"cannot be reached: {why}", _correct("bootstrap.servers", origin)))
    protocol = str(conf.get("security.protocol") or "plaintext").strip().upper()
    tls = protocol.endswith("SSL")
    found = listener_at(host, port, tls=tls)
    if found.spoken is not (Spoken.TLS if tls else Spoken.KAFKA):
        text = f"{found.spoken.value}, and security.protocol is {protocol}"
        return BrokerAnswer(Fault(text, _correct("security.protocol, or the port in bootstrap.servers,", origin)))
    if found.certificate is None or str(conf.get(_VERIFICATION, "true")).strip().lower() == "false":
        return BrokerAnswer(None)
    certificate = found.certificate
    if str(conf.get(_IDENTIFICATION, "https")).strip().lower() == "none":
        certificate = certificate._replace(names=())
    text = certificate.fault(host, datetime.now(UTC)) or ""
    return BrokerAnswer(
        Fault(text, "give the broker a valid one, for the host that clients connect to") if text else None
    )


def _correct(what: str, origin: str) -> str:
    return f"correct {what} in {origin}, or start the broker and open its port"


def find_addresses(case: Case, about: About) -> Iterator[Finding]:
    """Connect to each address in ``bootstrap.servers``."""
    for side in sides(case):
        servers = list(servers_of(str(side.conf.get("bootstrap.servers", "")), PORT))[:MAX_BROKERS]
        found = side.faults(servers)
        answering = [name for name, fault in found.items() if fault is None]
        if answering:
            yield about.ok(f"{', '.join(answering)}{side.whose} can be reached")
        for name, fault in found.items():
            if fault is not None:
                made = partial(about.warning if answering else about.problem, f"{name}{side.whose} {fault.text}")
                yield made(f"{fault.remedy}; the others answer" if answering else fault.remedy)


def find_login(case: Case, about: About) -> Iterator[Finding]:
    """Ask for the cluster's id, which needs TLS and login."""
    for side in sides(case):
        cluster_id = side.cluster.announced().cluster_id
        yield about.ok(f"cluster {cluster_id!r}{side.whose} lets {login_of(side.conf)} in")


def find_listeners(case: Case, about: About) -> Iterator[Finding]:
    """Connect to the addresses that the brokers announce: clients use those after the first request."""
    for side in sides(case):
        servers = [server for _, server in sorted(side.cluster.announced().brokers.items())][:MAX_BROKERS]
        faults = {name: fault for name, fault in side.faults(servers).items() if fault is not None}
        for name, fault in faults.items():
            yield about.problem(
                f"a broker{side.whose} announces {name}, which from here {fault.text}",
                "set its advertised.listeners to an address that Airflow's and Spark's workers reach, or open that port",
            )
        if not faults:
            shown = ", ".join(named(*server) for server in servers)
            yield about.ok(f"the announced addresses{side.whose} can be reached: {shown}")


def _connection(conf: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in conf.items() if name.startswith(_CONNECTION)}


# A check of clocks: this machine's against those of the brokers and of the schema registry.


MAX_CLOCK_SECONDS = 30
REMEDY = "synchronize the clocks (NTP) of this machine and of the servers: commit times and time windows come from them"


def find_clocks(case: Case, about: About) -> Iterator[Finding]:
    """Compare this machine's time with what servers gave when they were asked.

    Brokers say their time by the marker that ended the transaction of this diagnosis. Another writer's record may be newer,
    so a broker that is behind is found, and one that is ahead is either it or that writer.
    """
    clocks = list(case.clocks)
    if case.marked is not None:
        with suppress(KafkaError):  # why they do not answer is said by the checks of the brokers
            clocks += _of_brokers(case, case.marked)
    for clock in {one.where: one for one in clocks}.values():
        behind = (clock.here - clock.there).total_seconds()
        if abs(behind) > MAX_CLOCK_SECONDS:
            how = f"{abs(behind):,.0f} s {'behind' if behind > 0 else 'ahead of'}"
            yield about.warning(f"the clock of {clock.where} is {how} this machine's", REMEDY)
        else:
            yield about.ok(f"the clock of {clock.where} agrees with this machine's within {MAX_CLOCK_SECONDS} s")
    if not clocks:
        yield about.not_checked("no server gave its time")


def _of_brokers(case: Case, marked: datetime) -> list[Clock]:
    """Return the time of the newest marker or record, beside the one of this machine that it may be at best."""
    name = case.connector.control_topic
    partitions = case.control.topics([name])[name].partitions
    newest = max(case.control.newest_timestamps(TopicPartition(name, one) for one in partitions).values())
    if newest <= 0:
        return []  # of a broker that gives no time of markers, nothing is known
    there = datetime.fromtimestamp(newest / 1000, UTC)
    return [Clock("the brokers", there, min(max(there, marked), datetime.now(UTC)))]
