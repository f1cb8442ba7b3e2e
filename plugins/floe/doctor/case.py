"""What the checks of one diagnosis share: the connector, its settings, and its clients, each opened when first needed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Literal, NamedTuple

from floe.catalogs.client import Tables
from floe.config import Connector
from floe.config.connection_fields import ConnectionFields
from floe.config.sections.topics import matching_topics
from floe.kafka.admin import Cluster
from floe.kafka.settings import KafkaSettings

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
    def tables(self) -> Tables:
        """The connector's catalog."""
        return Tables.of(self.connector)

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
