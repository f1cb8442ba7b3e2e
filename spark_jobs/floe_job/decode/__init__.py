"""Record values to Arrow rows."""

from floe_job.decode.decoder import JsonDecoder
from floe_job.decode.results import Decoded, Rejected

__all__ = ["Decoded", "JsonDecoder", "Rejected"]
