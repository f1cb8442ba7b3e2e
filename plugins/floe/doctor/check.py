"""How a check is run: in a thread of its own, for a limited time, and whatever it raises is a finding."""

from __future__ import annotations

import enum
import os
import queue
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from threading import Thread
from typing import Literal, NamedTuple

from floe.catalogs.client import CatalogClient
from floe.config import Connector
from floe.config.check import readable
from floe.config.connection_fields import ConnectionFields
from floe.config.secrets.mask import clip, hide
from floe.config.sections.topics import matching_topics
from floe.exceptions import FloeError, with_code
from floe.kafka.admin import Cluster
from floe.kafka.settings import KafkaSettings

REMOVAL_SECONDS = 10.0
"""How long a command that is interrupted waits for a probe to be removed."""


@dataclass(frozen=True)
class Check:
    """One check. ``find`` yields findings, and may raise.

    ``remedy``: what to do where it raises or does not answer within ``seconds``. ``part``: what has to be known for it.
    ``needs``: the checks without which it says nothing new. ``probe``: what it makes and removes, for messages.
    """

    name: str
    find: Callable[[Case, About], Iterable[Finding]]
    remedy: str
    part: Part | None = None
    needs: tuple[str, ...] = ()
    seconds: float = 30.0
    probe: str = ""

    def run(self, case: Case) -> Iterator[Finding]:
        """Yield the findings, cleaned, at least one; raises nothing. A thread that does not end in time is left behind."""
        about, is_empty = About(self.name), True
        found: queue.SimpleQueue[Finding | None] = queue.SimpleQueue()
        thread = Thread(target=self._find, args=(case, about, found), name=f"doctor: {self.name}", daemon=True)
        end, writes = time.monotonic() + self.seconds, bool(self.probe) and case.write
        try:
            thread.start()
            while (one := found.get(timeout=max(0.0, end - time.monotonic()))) is not None:
                is_empty = False
                yield one.cleaned()
            if is_empty:
                yield about.not_checked("there was nothing to look at").cleaned()
        except queue.Empty:
            remains = f"; {self.probe} may remain" if writes else ""
            yield about.problem(f"no answer within {self.seconds:g} s{remains}", self.remedy).cleaned()
        except (KeyboardInterrupt, GeneratorExit):
            if writes and thread.ident is not None:
                thread.join(REMOVAL_SECONDS)
            raise

    def _find(self, case: Case, about: About, found: queue.SimpleQueue[Finding | None]) -> None:
        try:
            for one in self.find(case, about):
                found.put(one)
        except FloeError as error:
            found.put(about.problem(with_code(str(error), error.code), self.remedy))
        except Exception as error:  # noqa: BLE001 - it is reported, and the other checks are run
            found.put(about.problem(hide(f"{type(error).__name__}: {error}"), self.remedy))
        finally:
            found.put(None)


# What the checks of one diagnosis share: the connector, its settings, and its clients, each opened when first needed.


Part = Literal["kafka", "registry", "catalog", "spark"]


class Clock(NamedTuple):
    """The time that a server gave, and when it was asked."""

    where: str
    there: datetime
    here: datetime


@dataclass
class Case:
    """One connector to be diagnosed.

    ``settings`` and ``spark`` are None where they could not be looked up. ``unknown``: the parts of which something
    could not be looked up, and why: they are not checked. ``unusable``: those of which something is missing or wrong,
    and what: a problem. ``write``: probes may be written, and are removed. ``clocks``: filled by checks that ask
    servers. ``marked``: when brokers ended the transaction of this diagnosis by a marker. ``failed``: the checks so far
    that found a problem, or were not run for one.
    """

    connector: Connector
    settings: KafkaSettings | None
    write: bool = False
    spark: ConnectionFields | None = None
    unknown: Mapping[Part, str] = field(default_factory=dict)
    unusable: Mapping[Part, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    clocks: list[Clock] = field(default_factory=list)
    marked: datetime | None = None
    failed: set[str] = field(default_factory=set)

    @property
    def kafka(self) -> KafkaSettings:
        """The client settings, in checks that are only run where they are known."""
        if self.settings is None:
            msg = "the client settings are not known"
            raise LookupError(msg)
        return self.settings

    @cached_property
    def source(self) -> Cluster:
        """The cluster of the topics."""
        return Cluster.of_source(self.kafka)

    @cached_property
    def control(self) -> Cluster:
        """The cluster of the control topic and of the group."""
        return self.source if self.kafka.control == self.kafka.source else Cluster.of_control(self.kafka)

    @cached_property
    def tables(self) -> CatalogClient:
        """The connector's catalog."""
        return CatalogClient.of(self.connector)

    @cached_property
    def topics(self) -> tuple[str, ...]:
        """The topics that are read; those that an expression matches now."""
        if self.connector.topics or self.connector.topics_regex is None:
            return tuple(self.connector.topics)
        return tuple(matching_topics(self.connector, self.source.topic_names()))

    @property
    def known_topics(self) -> tuple[str, ...]:
        """The topics, without asking the brokers for those that an expression matches."""
        found: tuple[str, ...] = self.__dict__.get("topics", tuple(self.connector.topics))
        return found

    def close(self) -> None:
        """Close the catalog's connections, if it was opened. Raises what the catalog raises."""
        if "tables" in self.__dict__:
            self.tables.catalog.close()


# What a check found: one line, and what to do.


MAX_CHARACTERS = 600
"""Of a finding's text, and of its remedy."""


class Level(enum.Enum):
    """How a finding is to be taken."""

    OK = "ok"
    NOT_CHECKED = "not checked"
    WARNING = "warning"
    """A run may succeed now; later, or under other conditions, it may not."""
    PROBLEM = "problem"
    """A run fails, or data is at risk."""


@dataclass(frozen=True)
class Finding:
    """One result of a check. ``remedy``: what to do, empty where nothing is to be done."""

    name: str
    level: Level
    text: str
    remedy: str = ""

    @property
    def is_problem(self) -> bool:
        """Whether a run fails by it."""
        return self.level is Level.PROBLEM

    def cleaned(self) -> Finding:
        """Return it as it may be shown: each text one line of bounded length, without secrets."""
        return replace(self, text=_line(self.text), remedy=_line(self.remedy))

    def to_json(self) -> dict[str, str]:
        """Return it as JSON."""
        return {"check": self.name, "level": self.level.value, "text": self.text, "remedy": self.remedy}


@dataclass(frozen=True)
class About:
    """Makes the findings of one check."""

    name: str

    def ok(self, text: str) -> Finding:
        """Return what is as it has to be."""
        return Finding(self.name, Level.OK, text)

    def not_checked(self, text: str, remedy: str = "") -> Finding:
        """Return what could not be found out."""
        return Finding(self.name, Level.NOT_CHECKED, text, remedy)

    def warning(self, text: str, remedy: str) -> Finding:
        """Return what may become a problem."""
        return Finding(self.name, Level.WARNING, text, remedy)

    def problem(self, text: str, remedy: str) -> Finding:
        """Return what makes a run fail."""
        return Finding(self.name, Level.PROBLEM, text, remedy)


def _line(text: str) -> str:
    return readable(clip(" ".join(text.split()), MAX_CHARACTERS))
