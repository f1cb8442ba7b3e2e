"""Positions: the committed offsets of a connector's group, and what their metadata strings carry."""

import json
from dataclasses import dataclass

from floe.offsets.ranges import TopicPartition

FORMAT = 1


@dataclass(frozen=True, slots=True)
class PositionMetadata:
    """What floe keeps beside an offset.

    ``routing``: hash of the connector's routing of this topic. ``since``: the offset from which that routing has
    been unchanged. ``topic_id`` and ``cluster_id``: the incarnation of the topic and the cluster that the offset
    belongs to.
    """

    routing: str
    since: int
    topic_id: str
    cluster_id: str

    def encode(self) -> str:
        """Write as compact JSON, well below Kafka's 4,096 bytes (``offset.metadata.max.bytes``)."""
        fields = {
            "floe": FORMAT,
            "routing": self.routing,
            "since": self.since,
            "topic": self.topic_id,
            "cluster": self.cluster_id,
        }
        return json.dumps(fields, separators=(",", ":"))

    @classmethod
    def decode(cls, text: str) -> "PositionMetadata | None":
        """Read what :meth:`encode` wrote; None when somebody else wrote it."""
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(fields, dict) or fields.get("floe") != FORMAT:
            return None
        try:
            return cls(str(fields["routing"]), int(fields["since"]), str(fields["topic"]), str(fields["cluster"]))
        except (KeyError, TypeError, ValueError, OverflowError):
            return None


@dataclass(frozen=True, slots=True)
class Position:
    """A committed offset of the group; ``metadata`` is the string beside it, verbatim."""

    tp: TopicPartition
    offset: int
    metadata: str
