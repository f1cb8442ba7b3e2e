"""The code of the sink's own transforms, by the class of their settings."""

from typing import Final

from floe_job.transform.family import Family, code, each
from floe_job.transform.reads import Reads

ICEBERG: Final = {
    "iceberg.change_data.DebeziumChange": Family(code("iceberg.debezium", "DebeziumChanges"), reads=Reads.COLUMNS),
    "iceberg.change_data.DmsChange": Family(code("iceberg.dms", "DmsChanges")),
    "iceberg.copy_value.CopyValue": each("iceberg.copy_value", "CopyValueChange", is_sided=False),
    "iceberg.json_to_map.JsonToMap": Family(code("iceberg.json_to_map", "JsonMaps")),
    "iceberg.mongo_change.MongoChange": Family(code("iceberg.mongo", "MongoChanges")),
}
