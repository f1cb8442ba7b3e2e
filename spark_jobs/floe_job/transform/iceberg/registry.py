"""The code of the sink's own transforms, by the class of their settings."""

from __future__ import annotations

from typing import Final

from floe.config.transforms.iceberg.change_data import DebeziumChange, DmsChange
from floe.config.transforms.iceberg.copy_value import CopyValue
from floe.config.transforms.iceberg.json_to_map import JsonToMap
from floe.config.transforms.iceberg.mongo_change import MongoChange
from floe.config.transforms.options import TransformOptions
from floe_job.transform.base import Reads
from floe_job.transform.family import Family
from floe_job.transform.iceberg.copy_value import CopyValueChange
from floe_job.transform.iceberg.debezium import DebeziumChanges
from floe_job.transform.iceberg.dms import DmsChanges
from floe_job.transform.iceberg.json_to_map import JsonMaps
from floe_job.transform.iceberg.mongo import MongoChanges
from floe_job.transform.value_change import EachValue

ICEBERG: Final[dict[type[TransformOptions], Family]] = {
    DebeziumChange: Family(DebeziumChanges, reads=Reads.COLUMNS),
    DmsChange: Family(DmsChanges),
    CopyValue: Family(lambda options: EachValue(CopyValueChange(options)), reads=Reads.COLUMNS),
    JsonToMap: Family(JsonMaps),
    MongoChange: Family(MongoChanges),
}
