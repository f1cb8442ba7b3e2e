"""The code of Confluent's transforms, by the class of their settings."""

from typing import Final

from floe_job.transform.family import Family, code
from floe_job.transform.reads import Reads

CONFLUENT: Final = {
    "confluent.extract_topic.ExtractTopic": Family(
        code("confluent.extract_topic", "ExtractedTopics"), reads=Reads.COLUMNS
    ),
    "confluent.tombstone_handler.TombstoneHandler": Family(
        code("confluent.tombstone_handler", "Tombstones"), reads=Reads.NOTHING
    ),
}
