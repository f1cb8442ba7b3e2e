"""Functions of librdkafka, in the library that confluent-kafka contains: those that return records as they are in memory.

Names, types and the layout of a message are those of ``rdkafka.h``, which librdkafka keeps over its versions.
"""

from __future__ import annotations

import ctypes
from collections import deque
from ctypes import CFUNCTYPE, Structure, c_char_p, c_int, c_int32, c_int64, c_size_t, c_ssize_t, c_void_p, memmove
from typing import Any

import confluent_kafka.cimpl
import numpy as np

CONSUMER = 1
"""``RD_KAFKA_CONSUMER``."""

CONF_OK = 0
"""``RD_KAFKA_CONF_OK``."""

NO_HEADERS = -156
"""``RD_KAFKA_RESP_ERR__NOENT``."""

KNOWN_VERSION = 0x021000FF
"""The librdkafka whose layout of a batch, and of a record, in memory is known: 2.16.0."""

TIMESTAMP_NOT_AVAILABLE = 0
"""``RD_KAFKA_TIMESTAMP_NOT_AVAILABLE``."""


class NativeMessage(Structure):
    """``rd_kafka_message_t``: a record, or an event where ``err`` is not 0."""

    _fields_ = (
        ("err", c_int),
        ("rkt", c_void_p),
        ("partition", c_int32),
        ("payload", c_void_p),
        ("len", c_size_t),
        ("key", c_void_p),
        ("key_len", c_size_t),
        ("offset", c_int64),
        ("_private", c_void_p),
    )


class ConsumedMessage(Structure):
    """The beginning of ``rd_kafka_msg_t``, which a record is, in the version KNOWN_VERSION; others may differ.

    ``headers_size``, ``headers``: the bytes of the record's headers as Kafka has them, 0 of an older format's. librdkafka
    parses them when it is asked for one.
    """

    _fields_ = (
        ("message", NativeMessage),
        ("_link", c_void_p * 2),
        ("_flags", c_int),
        ("_time_kind", c_int),
        ("_time", c_int64),
        ("_parsed", c_void_p),
        ("_status", c_int64),
        ("headers_size", c_int32),
        ("headers", c_void_p),
    )


# libraries that a library is linked with are found through it
_library = ctypes.CDLL(confluent_kafka.cimpl.__file__)
# calls so short that releasing the interpreter lock would take longer
_short = ctypes.PyDLL(confluent_kafka.cimpl.__file__)


def _function(library: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Any:
    function = library[f"rd_kafka_{name}"]
    function.restype, function.argtypes = result, arguments
    return function


version = _function(_short, "version", c_int)
conf_new = _function(_short, "conf_new", c_void_p)
conf_set = _function(_short, "conf_set", c_int, c_void_p, c_char_p, c_char_p, c_char_p, c_size_t)
# the settings of a running client, which the header calls constant: those that it reads for each request may be changed
conf_of = _function(_short, "conf", c_void_p, c_void_p)
conf_destroy = _function(_short, "conf_destroy", None, c_void_p)
new = _function(_library, "new", c_void_p, c_int, c_void_p, c_char_p, c_size_t)
destroy = _function(_library, "destroy", None, c_void_p)
poll_set_consumer = _function(_library, "poll_set_consumer", c_int, c_void_p)
# called by the thread that polls the client
StatisticsCallback = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p)
LogCallback = CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_char_p)
conf_set_stats_cb = _function(_short, "conf_set_stats_cb", None, c_void_p, StatisticsCallback)
conf_set_log_cb = _function(_short, "conf_set_log_cb", None, c_void_p, LogCallback)
set_log_queue = _function(_short, "set_log_queue", c_int, c_void_p, c_void_p)
consumer_close = _function(_library, "consumer_close", c_int, c_void_p)
assign = _function(_library, "assign", c_int, c_void_p, c_void_p)

topic_partition_list_new = _function(_short, "topic_partition_list_new", c_void_p, c_int)
topic_partition_list_add = _function(_short, "topic_partition_list_add", c_void_p, c_void_p, c_char_p, c_int32)
topic_partition_list_set_offset = _function(
    _short, "topic_partition_list_set_offset", c_int, c_void_p, c_char_p, c_int32, c_int64
)
topic_partition_set_leader_epoch = _function(_short, "topic_partition_set_leader_epoch", None, c_void_p, c_int32)
topic_partition_list_destroy = _function(_short, "topic_partition_list_destroy", None, c_void_p)

queue_get_consumer = _function(_short, "queue_get_consumer", c_void_p, c_void_p)
queue_destroy = _function(_short, "queue_destroy", None, c_void_p)
consume_batch_queue = _function(_library, "consume_batch_queue", c_ssize_t, c_void_p, c_int, c_void_p, c_size_t)

message_destroy = _function(_short, "message_destroy", None, c_void_p)
_allocate = ctypes.PyDLL(None).malloc
_allocate.restype, _allocate.argtypes = c_void_p, (c_size_t,)
# the known layout of a batch in memory: the number, then the addresses; other versions may differ
_messages_destroy = _function(_library, "messages_destroy", None, c_void_p) if version() == KNOWN_VERSION else None
message_errstr = _function(_short, "message_errstr", c_char_p, c_void_p)
# these take addresses as plain numbers: pointers of ctypes would cost more than the calls
message_timestamp = _function(_short, "message_timestamp", c_int64, c_void_p, c_void_p)
message_leader_epoch = _function(_short, "message_leader_epoch", c_int32, c_void_p)
message_headers = _function(_short, "message_headers", c_int, c_void_p, c_void_p)
header_get_all = _function(_short, "header_get_all", c_int, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p)
header_get_last = _function(_short, "header_get_last", c_int, c_void_p, c_char_p, c_void_p, c_void_p)
topic_name = _function(_short, "topic_name", c_char_p, c_void_p)
last_error = _function(_short, "last_error", c_int)
err2str = _function(_short, "err2str", c_char_p, c_int)


def destroy_messages(pointers: np.ndarray[Any, np.dtype[np.int64]]) -> None:
    """Release messages, in one call where possible: a call for each takes longer than the work that it does."""
    if _messages_destroy is None:
        deque(map(message_destroy, pointers.tolist()), maxlen=0)
    else:
        _messages_destroy(batch_of(pointers))


def batch_of(pointers: np.ndarray[Any, np.dtype[np.int64]]) -> int:
    """Return the address of a ``rd_kafka_messages_t``, which the caller owns."""
    words = np.append(np.int64(len(pointers)), pointers)
    batch: int | None = _allocate(words.nbytes)
    if batch is None:
        raise MemoryError
    memmove(batch, words.ctypes.data, words.nbytes)
    return batch
