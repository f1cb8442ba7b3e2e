"""Waits for transactions to end: a commit returns once its coordinator has decided, before the logs have its markers."""

from __future__ import annotations

import time

from floe.kafka.cluster import Cluster

SECONDS = 10
"""Far below the time-out of a transaction that somebody has left open."""


def wait_for_markers(cluster: Cluster, topic: str) -> dict[int, int]:
    """Return the end of each partition once no transaction is open there."""
    tps = [log.tp for log in cluster.logs([topic])]
    deadline = time.monotonic() + SECONDS
    while (stable := cluster.stable_ends(tps)) != (ends := cluster.log_ends(tps)):
        assert time.monotonic() < deadline, f"{topic!r} is stable up to {stable} only, and has records up to {ends}"
        time.sleep(0.02)
    return {tp.partition: end for tp, end in ends.items()}
