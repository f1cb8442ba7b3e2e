"""Waits for transactions to end: a commit returns once its coordinator has decided, before the logs have its markers."""

from __future__ import annotations

from floe.kafka.admin import Cluster
from stack.progress import wait_until

SECONDS = 10
"""Far below the time-out of a transaction that a producer has left open."""


def wait_for_markers(cluster: Cluster, topic: str) -> dict[int, int]:
    """Return the end of each partition once no transaction is open there."""
    tps = [log.tp for log in cluster.logs([topic])]
    ended = wait_until(lambda: cluster.stable_ends(tps) == cluster.log_ends(tps), SECONDS, pause=0.02)
    assert ended, f"a transaction in {topic!r} is open: stable up to {cluster.stable_ends(tps)}"
    return {tp.partition: end for tp, end in cluster.stable_ends(tps).items()}
