"""A log that loses its end and is written again, as after an unclean leader election; its broker is down meanwhile."""

from __future__ import annotations

import struct
from pathlib import Path

from stack.services.broker import Broker


def truncate(broker: Broker, topic: str, offset: int, partition: int = 0) -> None:
    """Remove the batches of a partition from an offset on, while the broker is down; its leader epoch then goes up.

    ``offset``: where a batch begins. What a broker derives from its log, it derives again at the start.
    """
    broker.stop()
    data = broker.folder / "data"
    folder = data / f"{topic}-{partition}"
    for derived in (*folder.glob("*.index"), *folder.glob("*.timeindex"), *folder.glob("*.snapshot")):
        derived.unlink()
    (data / ".kafka_cleanshutdown").unlink(missing_ok=True)
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        (data / name).unlink(missing_ok=True)
    segments = sorted(folder.glob("*.log"))
    for segment in segments:
        _cut(segment, offset)
    broker.start()


def _cut(segment: Path, offset: int) -> None:
    content = segment.read_bytes()
    at = 0
    while at < len(content):
        base, size = struct.unpack_from(">qi", content, at)
        if base >= offset:
            assert base == offset, f"no batch begins at {offset}: the next one begins at {base}"
            break
        at += 12 + size
    segment.write_bytes(content[:at])
