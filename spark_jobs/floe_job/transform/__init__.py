"""Transforms: what the job adds to records before they become rows."""

from floe_job.transform.facts import RecordFacts
from floe_job.transform.kafka_metadata import MetadataColumns

__all__ = ["MetadataColumns", "RecordFacts"]
