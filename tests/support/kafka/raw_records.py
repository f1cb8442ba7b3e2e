"""Records as no client of Python's would send them: by librdkafka itself, which the floe job loads too."""

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_int, c_int32, c_size_t, c_ssize_t, c_void_p

from floe_job.source.native import librdkafka

PRODUCER = 0
END, TOPIC, PARTITION, VALUE, KEY, MSGFLAGS, HEADER = 0, 1, 3, 4, 5, 7, 9
COPY = 2

_library = ctypes.CDLL(librdkafka.confluent_kafka.cimpl.__file__)


def produce_raw(bootstrap: str, topic: str, key: bytes, value: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    """Produce one record to partition 0, its header names as they are."""
    text = ctypes.create_string_buffer(512)
    conf = librdkafka.conf_new()
    assert librdkafka.conf_set(conf, b"bootstrap.servers", bootstrap.encode(), text, 512) == librdkafka.CONF_OK
    client = librdkafka.new(PRODUCER, conf, text, 512)
    assert client, text.value
    producev, flush = _library.rd_kafka_producev, _library.rd_kafka_flush
    producev.restype, flush.restype = c_int, c_int
    named = [part for name, of in headers for part in (c_int(HEADER), c_char_p(name), c_char_p(of), c_ssize_t(len(of)))]
    error = producev(
        *(c_void_p(client), c_int(TOPIC), c_char_p(topic.encode()), c_int(PARTITION), c_int32(0)),
        *(c_int(MSGFLAGS), c_int(COPY), c_int(KEY), c_char_p(key), c_size_t(len(key))),
        *(c_int(VALUE), c_char_p(value), c_size_t(len(value)), *named, c_int(END)),
    )
    assert error == 0
    assert flush(c_void_p(client), c_int(30_000)) == 0
    librdkafka.destroy(client)
