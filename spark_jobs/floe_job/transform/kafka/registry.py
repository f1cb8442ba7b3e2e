"""The code of Kafka's own transforms, by the class of their settings."""

from __future__ import annotations

from typing import Final

from floe.config.transforms.kafka.replace_field import ReplaceField
from floe.config.transforms.options import TransformOptions
from floe_job.transform.base import Reads
from floe_job.transform.family import Family
from floe_job.transform.kafka.replace_field import ReplaceFieldChange
from floe_job.transform.value_change import EachValue

KAFKA: Final[dict[type[TransformOptions], Family]] = {
    ReplaceField: Family(lambda options: EachValue(ReplaceFieldChange(options), options.side), reads=Reads.COLUMNS),
}
