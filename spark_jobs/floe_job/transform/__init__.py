"""Transforms: changes to records before they become rows."""

from floe_job.transform.chain import Chain
from floe_job.transform.kafka_metadata.columns import MetadataColumns
from floe_job.transform.record_metadata import RecordMetadata

__all__ = ["Chain", "MetadataColumns", "RecordMetadata"]
