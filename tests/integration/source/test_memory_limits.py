"""Batches that burst when they are decompressed: how much memory a reader takes for them."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import astuple
from typing import Any

import pytest

from floe.kafka.reader_limits import MIB, ReaderLimits
from floe.model.offsets import OffsetRange
from floe_job.exceptions import BatchTooLarge
from floe_job.source.range_reader import POLL_RECORDS, Mode, RangeProgress, RangeReader
from tests.support.kafka.source_clients import FAST_ONLY, produce

pytestmark = pytest.mark.usefixtures("client")

MB = 1_000_000


def most_at_once(conf: dict[str, Any], topic: str, count: int, limits: ReaderLimits) -> int:
    """Read a range in a process of its own; return by how many bytes its memory grew at most."""
    program = (
        "import json, sys\n"
        "from contextlib import closing\n"
        "from floe.kafka.reader_limits import ReaderLimits\n"
        "from floe.model.offsets import OffsetRange\n"
        "from floe_job.memory_tuning import tuned_memory\n"
        "from floe_job.source.range_reader import RangeReader\n"
        "def kept(name):\n"
        "    return [int(x.split()[1]) * 1024 for x in open('/proc/self/status') if x.startswith(name)][0]\n"
        "conf, topic, count, *limits = json.loads(sys.argv[1])\n"
        "before, read = kept('VmRSS'), 0\n"
        "with tuned_memory(), closing(RangeReader.open(conf, ReaderLimits(*limits))) as reader:\n"
        "    for batch in reader.read(OffsetRange(topic, 'x', 0, 0, count)):\n"
        "        read += len(batch)\n"
        "        del batch\n"
        "assert read == count, read\n"
        "print(kept('VmHWM') - before)\n"
    )
    queue = {"queued.max.messages.kbytes": limits.queue_bytes // 1024}  # as KafkaSettings.reader has for these limits
    given = json.dumps([{**conf, **queue}, topic, count, *astuple(limits)])
    done = subprocess.run(
        [sys.executable, "-c", program, given],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return int(done.stdout)


@pytest.mark.parametrize(
    ("client", "codec"),
    [
        ("fast", "zstd"),
        *(pytest.param("fast", codec, marks=pytest.mark.full) for codec in ("gzip", "snappy", "lz4")),
        *(pytest.param("portable", codec, marks=pytest.mark.full) for codec in ("gzip", "zstd")),
    ],
    indirect=["client"],
)
def test_batches_that_burst_are_decompressed_one_by_one(
    conf: dict[str, Any], topic: Callable[..., str], client: str, codec: str
) -> None:
    name = topic()
    for _ in range(20):
        produce(conf, name, [{"value": b"x" * 9 * MB}], **{"compression.type": codec, "message.max.bytes": 100 * MB})
    limits = ReaderLimits(memory=64 * MIB, is_portable=client == "portable")
    copies = 2 if limits.is_portable else 1  # each record is an object of Python's too
    assert most_at_once(conf, name, 20, limits) < copies * 64 * MIB


@FAST_ONLY
@pytest.mark.parametrize(
    ("codec", "part", "bursts"),
    [("zstd", "value", 20), ("zstd", "key", 20), ("zstd", "headers", 20), ("gzip", "headers", 6)],
)
def test_burst_after_small_batches_is_bounded(
    conf: dict[str, Any], topic: Callable[..., str], codec: str, part: str, bursts: int
) -> None:
    name, large = topic(), b"x" * 9 * MB
    burst: dict[str, Any] = {"value": b"v", part: [("h", large)] if part == "headers" else large}
    more = {"compression.type": codec, "message.max.bytes": 100 * MB, "batch.num.messages": 1, "linger.ms": 0}
    produce(conf, name, [{"value": b"small"}] * 300, **more)
    produce(conf, name, [burst] * bursts, **more)
    produce(conf, name, [{"value": b"small"}] * 100, **more)
    assert most_at_once(conf, name, 400 + bursts, ReaderLimits(memory=64 * MIB)) < 64 * MIB


TINY = 2 * POLL_RECORDS
"""Tiny records: so many that no call of the client returns all of them, and what comes behind them."""


@FAST_ONLY
@pytest.mark.parametrize("codec", ["zstd", "gzip"])
@pytest.mark.parametrize(("tiny_codec", "long"), [("none", Mode.UNCOMPRESSED), ("lz4", Mode.VERY_MANY)])
def test_burst_after_many_tiny_batches_is_bounded(
    conf: dict[str, Any], topic: Callable[..., str], codec: str, tiny_codec: str, long: Mode, modes: list[Mode]
) -> None:
    name = topic()
    tiny = {"batch.size": 4000, "linger.ms": 5, "compression.type": tiny_codec}
    more = {"compression.type": codec, "message.max.bytes": 100 * MB, "batch.num.messages": 1, "linger.ms": 0}
    produce(conf, name, [{"value": b"%04d" % (i % 10_000) * 100} for i in range(TINY)], **tiny)
    produce(conf, name, [{"value": b"x" * 9 * MB}] * 6, **more)
    produce(conf, name, [{"value": b"small"}] * 40, **more)
    limits = ReaderLimits(memory=64 * MIB)
    assert most_at_once(conf, name, TINY + 46, limits) < 64 * MIB
    with closing(RangeReader.open(conf, limits)) as reader:
        assert sum(len(batch) for batch in reader.read(OffsetRange(name, "x", 0, 0, TINY + 46))) == TINY + 46
    assert [mode for mode, _ in itertools.groupby(modes)] == [Mode.MANY, long, Mode.ONE, Mode.MANY]


@FAST_ONLY
@pytest.mark.parametrize(
    ("codec", "stored"),
    [
        ("zstd", 1_000),
        ("gzip", 16_000),
        *(
            pytest.param(codec, stored, marks=pytest.mark.full)
            for codec in ("gzip", "snappy", "lz4", "zstd")
            for stored in (1_000, 16_000, 500_000)
            if (codec, stored) not in (("zstd", 1_000), ("gzip", 16_000))
        ),
    ],
)
@pytest.mark.parametrize(("memory", "bursts"), [(64 * MIB, 20), pytest.param(400 * MIB, 30, marks=pytest.mark.full)])
def test_burst_after_uncompressed_batches_is_bounded(
    conf: dict[str, Any], topic: Callable[..., str], codec: str, stored: int, memory: int, bursts: int
) -> None:
    """``stored``: bytes of a burst that do not compress."""
    name, noise = topic(), random.Random(stored)
    more = {"compression.type": codec, "message.max.bytes": 100 * MB, "batch.num.messages": 1, "linger.ms": 0}
    produce(conf, name, [{"value": b"%010d" % i * 20} for i in range(TINY)], **{"batch.size": 16_384})
    for _ in range(bursts):
        produce(conf, name, [{"value": noise.randbytes(stored) + b"x" * 6 * MB}], **more)
    assert most_at_once(conf, name, TINY + bursts, ReaderLimits(memory)) < memory


def test_short_answers_keep_any_burst_small(conf: dict[str, Any], topic: Callable[..., str]) -> None:
    """As tasks run again whose worker was killed: here a single answer of a megabyte would take most of a gigabyte."""
    name, bursts = topic(), 600
    more = {"compression.type": "zstd", "message.max.bytes": 2 * MB, "batch.num.messages": 1, "linger.ms": 0}
    produce(conf, name, [{"value": b"%010d" % i * 20} for i in range(TINY)], **{"batch.size": 16_384})
    produce(conf, name, [{"value": b"x" * MB}] * bursts, **more)
    limits = ReaderLimits(400 * MIB, has_short_answers=True)
    assert most_at_once(conf, name, TINY + bursts, limits) < 400 * MIB


@FAST_ONLY
@pytest.mark.parametrize("size", [1_000, 16_000, pytest.param(900_000, marks=pytest.mark.full)])
def test_batches_that_are_not_compressed_are_bounded(
    conf: dict[str, Any], topic: Callable[..., str], size: int
) -> None:
    name, count = topic(), 60 * MB // size
    more = {"batch.num.messages": 1, "linger.ms": 0, "queue.buffering.max.messages": count}
    produce(conf, name, [{"value": b"x" * size}] * count, **more)
    assert most_at_once(conf, name, count, ReaderLimits(memory=64 * MIB)) < 64 * MIB


@pytest.fixture
def modes(monkeypatch: pytest.MonkeyPatch) -> list[Mode]:
    """How a reader asked for records, one after the other."""
    found: list[Mode] = []
    set_mode = RangeProgress._set_mode

    def noted(self: RangeProgress, mode: Mode) -> None:
        found.append(mode)
        set_mode(self, mode)

    monkeypatch.setattr(RangeProgress, "_set_mode", noted)
    return found


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_batch_beyond_the_limit_is_refused_with_its_place(
    conf: dict[str, Any], topic: Callable[..., str], codec: str
) -> None:
    name = topic()
    produce(conf, name, [{"value": b"small"}])
    more = {"compression.type": codec, "message.max.bytes": 100 * MB, "batch.size": 100 * MB}
    produce(conf, name, [{"value": b"x" * 4000} for _ in range(2000)], **more, **{"batch.num.messages": 100_000})
    limits = ReaderLimits(largest_batch=2 * MB)
    with (
        closing(RangeReader.open(conf, limits)) as reader,
        pytest.raises(BatchTooLarge, match=rf"at offset 1 of {name}-0 .*floe\.batch\.max-bytes"),
    ):
        list(reader.read(OffsetRange(name, "x", 0, 0, 2001)))
