"""The code of Confluent's transforms, by the class of their settings."""

from __future__ import annotations

from typing import Final

from floe.config.transforms.confluent.extract_topic import ExtractTopic
from floe.config.transforms.confluent.tombstone_handler import TombstoneHandler
from floe.config.transforms.options import TransformOptions
from floe_job.transform.base import Reads
from floe_job.transform.confluent.extract_topic import ExtractedTopics
from floe_job.transform.confluent.tombstone_handler import Tombstones
from floe_job.transform.family import Family

CONFLUENT: Final[dict[type[TransformOptions], Family]] = {
    ExtractTopic: Family(ExtractedTopics, reads=Reads.COLUMNS),
    TombstoneHandler: Family(Tombstones, reads=Reads.NOTHING),
}
