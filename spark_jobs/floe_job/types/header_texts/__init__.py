"""What a header holds, as Kafka Connect's ``Values`` and ``SimpleHeaderConverter`` write it."""

from floe_job.types.header_texts.header_text import header_text
from floe_job.types.header_texts.literal import literal_text

__all__ = ["header_text", "literal_text"]
