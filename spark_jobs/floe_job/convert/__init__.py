"""Record values to Arrow rows."""

from floe_job.convert.base import Decoded
from floe_job.convert.json.decoder import JsonDecoder

__all__ = ["Decoded", "JsonDecoder"]
