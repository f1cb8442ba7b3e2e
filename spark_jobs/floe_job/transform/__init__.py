"""Transforms: what the job adds to records before they become rows."""

from floe_job.transform.kafka_metadata.columns import MetadataColumns
from floe_job.transform.record_metadata import RecordFacts

__all__ = ["MetadataColumns", "RecordFacts"]
