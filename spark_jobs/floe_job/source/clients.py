"""Chooses one of two consumers: the fast one, which reads the memory of a known librdkafka, or the portable one."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from ctypes import sizeof
from typing import Any

import confluent_kafka as ck

from floe.kafka.reader_limits import ReaderLimits
from floe_job.source.native import librdkafka
from floe_job.source.native.consumer import AUTHENTICATION, Consumer
from floe_job.source.portable import PortableConsumer

log = logging.getLogger(__name__)

Client = Consumer | PortableConsumer

_MESSAGE_BYTES = 72
"""Of ``rd_kafka_message_t`` where pointers have 64 bits."""


def open_client(conf: Mapping[str, Any], most: int, limits: ReaderLimits) -> Client:
    """Return the fast consumer where it may be taken, else the portable one; ``most``: messages at once.

    Raises SettingRefused.
    """
    if obstacle(conf, limits) is None:
        return Consumer.open(conf, most)
    return PortableConsumer.open(conf, most, limits)


def obstacle(conf: Mapping[str, Any], limits: ReaderLimits) -> str | None:
    """Return why the portable consumer has to read; None where the fast one may."""
    if limits.is_portable:
        return "floe.consumer is portable"
    version = librdkafka.version()
    if version != librdkafka.KNOWN_VERSION:
        return f"librdkafka {ck.libversion()[0]} is not the version whose memory floe knows (2.16.0)"
    if sizeof(librdkafka.Message) != _MESSAGE_BYTES:
        return f"a message has {sizeof(librdkafka.Message)} bytes on this machine, not {_MESSAGE_BYTES}"
    callbacks = sorted(name for name, value in conf.items() if callable(value))
    if callbacks:
        return f"the client's settings have callbacks: {callbacks}"
    if conf.get(AUTHENTICATION) == "aws_iam":
        return f"{AUTHENTICATION} is aws_iam, which confluent-kafka serves in Python"
    return None


def warn_of_portable(conf: Mapping[str, Any], limits: ReaderLimits) -> None:
    """Log why the portable consumer reads, where it does."""
    reason = obstacle(conf, limits)
    if reason is not None:
        log.info("records are read by the portable consumer, as %s", reason)
