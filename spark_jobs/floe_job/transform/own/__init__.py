"""Transforms that users write in Python: the batch that they get and return, and what runs them."""

from floe_job.transform.own.batch import Batch

__all__ = ["Batch"]
