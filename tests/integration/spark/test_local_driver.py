"""The driver of a local job, attacked by another process of its host: without Spark's secret it reaches nothing."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from floe.operators.spark import local_mode
from floe.query import session

DRIVER = """
import json, sys
from pyspark import SparkConf, SparkContext
conf = SparkConf().setMaster("local[1]").setAppName("driver").setAll(json.loads(sys.argv[1]).items())
context = SparkContext(conf=conf)
shared = context._jsc.broadcast("canary of a job")
ports = [int(context.getConf().get("spark.driver.port")), context._jsc.sc().env().blockManager().blockManagerId().port()]
shown = [row._2() for row in context._jsc.sc().getConf().getAll()]
rows = context.parallelize(range(3)).map(lambda row: row + 1).collect()
print(json.dumps([ports, context.applicationId, shared.id(), rows, shown]), flush=True)
sys.stdin.read()
"""
RPC_REQUEST, RPC_RESPONSE, RPC_FAILURE = 3, 4, 5
A_TEXT_OF_JAVA = b"\xac\xed\x00\x05t\x00\x01x"


@contextmanager
def driver(conf: dict[str, str]) -> Iterator[list[object]]:
    """Run a driver and give what it printed."""
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-c", DRIVER, json.dumps(conf)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as run:
        assert run.stdout is not None
        yield json.loads(run.stdout.readline())
        run.communicate("")


def answer(port: int, body: bytes) -> tuple[int | None, bytes]:
    """Send one request of Spark's network protocol; return the type of the answer and the answer."""
    message = struct.pack(">bqi", RPC_REQUEST, 1, len(body)) + body
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(struct.pack(">q", 8 + len(message)) + message)
        found = b""
        while len(found) < 9 or len(found) < struct.unpack(">q", found[:8])[0]:
            part = connection.recv(65536)
            if not part:
                return None, found
            found += part
    return found[8], found[9:]


def text(value: str) -> bytes:
    """A text as Java's DataOutputStream has it."""
    return struct.pack(">h", len(value)) + value.encode()


def long_text(value: str) -> bytes:
    return struct.pack(">i", len(value)) + value.encode()


def to_endpoint(port: int, name: str) -> bytes:
    address = b"\x01" + text("127.0.0.1") + struct.pack(">i", port)
    return b"\x00" + address + text(name) + A_TEXT_OF_JAVA


def open_block(application: str, block: str) -> bytes:
    return b"\x00" + long_text(application) + long_text("driver") + struct.pack(">i", 1) + long_text(block)


NOT_OF_SPARK = (local_mode.DAEMON, "spark.floe.halt")
OF_JOBS = {name: value for name, value in local_mode.CONF.items() if name not in NOT_OF_SPARK}
OF_QUERIES = {name: value for name, value in session._CONF.items() if not name.startswith("spark.sql")}


@pytest.mark.parametrize(
    ("conf", "is_protected"),
    [({**OF_JOBS, "spark.authenticate": "false"}, False), (OF_JOBS, True), (OF_QUERIES, True)],
    ids=["as Spark is by default", "of a job", "of a query"],
)
def test_driver_answers_no_process_without_its_secret(conf: dict[str, str], is_protected: bool) -> None:
    with driver(conf) as (ports, application, broadcast, rows, shown):
        endpoint = answer(ports[0], to_endpoint(ports[0], "nobody"))
        block = answer(ports[1], open_block(application, f"broadcast_{broadcast}_piece0"))
    assert rows == [1, 2, 3]
    assert not [value for value in shown if "secret" in value.lower()]
    if is_protected:
        assert b"nobody" not in endpoint[1]
        assert endpoint[0] != RPC_RESPONSE
        assert block[0] != RPC_RESPONSE
    else:
        assert b"Could not find nobody" in endpoint[1], "the attack reaches a driver without authentication"
        assert block[0] == RPC_RESPONSE
